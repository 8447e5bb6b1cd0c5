-- extend(now, until, batch) -> the number of leases whose deadline was moved to until
-- Keys: entries, leases, holders, owned, out, hosts, turns, full (2, 9-15, see lib.lua)

local found = redis.call('ZRANGEBYSCORE', KEYS[9], '-inf', '(' .. ARGV[2], 'LIMIT', 0, ARGV[3])
for _, fingerprint in ipairs(found) do
  move(fingerprint, load(fingerprint), 'l', tonumber(ARGV[2]), redis.call('HGET', KEYS[10], fingerprint))
end
put_hosts()
return #found
