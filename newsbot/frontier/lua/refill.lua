-- refill(now, owner, ttl, until) -> now, until when the storage has been asked (empty: never), 1 if the right
--                                 to ask it is the owner's for the next ttl seconds, else 0
--   until: what the storage has due until then is queued (empty: nothing to say); only who has the right says so.
-- Keys: meta (1, see lib.lua)

local now = present()
local state = redis.call('HMGET', KEYS[1], 'refiller', 'refiller_until', 'refilled')
local holder, ends, refilled = state[1], tonumber(state[2] or 0), state[3] or ''
local yours = not holder or holder == ARGV[2] or ends <= now
if yours and ARGV[4] ~= '' and holder == ARGV[2] then
  if refilled == '' or tonumber(refilled) < tonumber(ARGV[4]) then
    refilled = ARGV[4]
    redis.call('HSET', KEYS[1], 'refilled', refilled)
  end
  redis.call('HDEL', KEYS[1], 'refiller', 'refiller_until')
elseif yours then
  redis.call('HSET', KEYS[1], 'refiller', ARGV[2], 'refiller_until', number(now + tonumber(ARGV[3])))
end
return {number(now), refilled, yours and 1 or 0}
