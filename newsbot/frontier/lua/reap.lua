-- reap(now, batch) -> the number of expired leases that were reclaimed, at most batch
-- Keys: entries, waiting, aside, leases, holders, owned, out, hosts, turns, full (2, 5, 8-15, see lib.lua)

local now = present()
local fingerprints = expired(now, tonumber(ARGV[2]))
for _, fingerprint in ipairs(fingerprints) do
  lose(fingerprint, now)
end
put_hosts()
return #fingerprints
