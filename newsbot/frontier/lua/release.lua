-- release(now, owner, lost, call) -> the number of leases returned to the queue
--   lost: '1' if the owner died, so that they count as lost. call: the token of a lease call whose answer never
--   arrived, to return only its leases; empty to return all.
-- Keys: entries, waiting, aside, leases, holders, owned, out, hosts, turns, full (2, 5, 8-15, see lib.lua)

local now = present()
local released = 0
for _, fingerprint in ipairs(of_owner(ARGV[2])) do
  if ARGV[4] == '' or redis.call('HGET', KEYS[10], fingerprint):sub(1, 16) == ARGV[4] then
    if ARGV[3] == '1' then
      lose(fingerprint, now)
    else
      local record = load(fingerprint)
      move(fingerprint, record, 'w', record.due)
    end
    released = released + 1
  end
end
put_hosts()
return released
