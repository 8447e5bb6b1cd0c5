-- host(now, host) -> its record, or nil
-- Keys: hosts (13, see lib.lua)

return redis.call('HGET', KEYS[13], ARGV[2])
