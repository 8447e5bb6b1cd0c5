-- refill(now, owner, ttl, until, reading) -> now, the time up to which the storage's pages are queued (empty: never),
--                                 1 if the owner holds the refill lock for the next ttl seconds, else 0
--   until: the owner has queued all pages due until then, and releases the lock; empty: acquire or renew the
--   lock. Only the holder's until is stored. reading: '1' to renew only, because the caller is in the middle of
--   a read. A caller that has lost the lock (see also resume.lua) must begin the read again.
-- Keys: meta (1, see lib.lua)

local now = present()
local state = redis.call('HMGET', KEYS[1], 'refiller', 'refiller_until', 'refilled')
local holder, ends, refilled = state[1], tonumber(state[2] or 0), state[3] or ''
local yours = holder == ARGV[2]
if yours and ARGV[4] ~= '' then
  if refilled == '' or tonumber(refilled) < tonumber(ARGV[4]) then
    refilled = ARGV[4]
    redis.call('HSET', KEYS[1], 'refilled', refilled)
  end
  redis.call('HDEL', KEYS[1], 'refiller', 'refiller_until')
elseif yours or ARGV[5] ~= '1' and (not holder or ends <= now) then
  yours = true
  redis.call('HSET', KEYS[1], 'refiller', ARGV[2], 'refiller_until', number(now + tonumber(ARGV[3])))
end
return {number(now), refilled, yours and 1 or 0}
