-- turns(now, horizon, batch, offset, limit) -> the hosts whose turn has come, in the order of their turns
--   Settles up to batch entries of each state first (see lib.lua).
-- Keys: all of 1-15, see lib.lua

local now = present()
settle(now, horizon_of(ARGV[2]), tonumber(ARGV[3]))
-- This comes before the range is read, because settling changes the sets of hosts.
put_hosts()
return redis.call('ZRANGEBYSCORE', KEYS[14], '-inf', number(now), 'LIMIT', ARGV[4], ARGV[5])
