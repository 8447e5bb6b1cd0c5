-- release(now, owner, lost) -> the number of leases returned to the queue
--   lost: '1' if the owner died, so that the leases count as lost.
-- Keys: entries, waiting, aside, leases, holders, owned, out, hosts, turns, full (2, 5, 8-15, see lib.lua)

local now = present()
local fingerprints = of_owner(ARGV[2])
for _, fingerprint in ipairs(fingerprints) do
  if ARGV[3] == '1' then
    lose(fingerprint, now)
  else
    local record = load(fingerprint)
    -- The entry becomes waiting, although it is due: settle makes it ready at the next lease whose horizon reaches it.
    move(fingerprint, record, 'w', record.due)
  end
end
put_hosts()
return #fingerprints
