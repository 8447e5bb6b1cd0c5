-- extend(now, owner, ttl) -> the number of leases of the owner; all of them now end ttl seconds from now
-- Keys: entries, leases, holders, owned, out, hosts (2, 9-13, see lib.lua)

local deadline = present() + tonumber(ARGV[3])
local fingerprints = of_owner(ARGV[2])
for _, fingerprint in ipairs(fingerprints) do
  local record = load(fingerprint)
  move(fingerprint, record, 'l', deadline, redis.call('HGET', KEYS[10], fingerprint))
end
put_hosts()
return #fingerprints
