-- entry(now, fingerprint) -> its record, or nil
-- Keys: entries (2, see lib.lua)

return redis.call('HGET', KEYS[2], ARGV[2])
