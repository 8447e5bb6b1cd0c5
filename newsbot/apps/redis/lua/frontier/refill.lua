-- refill(now, owner, ttl, until, reading, at) -> now, the time up to which the storage's pages are queued (empty:
--   never), 1 if the owner holds the refill lock for the next ttl seconds, else 0, compare, filling
--   until: the owner has queued all pages due until then, and releases the lock; empty: acquire or renew the
--   lock. Only the holder's until is stored. reading: '1' to renew only, because the caller is in the middle of
--   a read. A caller that has lost the lock (see also resume.lua) must begin the read again.
--   at: if not empty, the fingerprint up to which the owner has queued all pages, in a read of all pages. It is
--   stored as filling. compare: see resume.lua.
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
  redis.call('HDEL', KEYS[1], 'refiller', 'refiller_until', 'compare', 'filling')
elseif yours or ARGV[5] ~= '1' and (not holder or ends <= now) then
  yours = true
  redis.call('HSET', KEYS[1], 'refiller', ARGV[2], 'refiller_until', number(now + tonumber(ARGV[3])))
  if ARGV[6] ~= '' then
    redis.call('HSET', KEYS[1], 'filling', ARGV[6])
  end
end
local rest = redis.call('HMGET', KEYS[1], 'compare', 'filling')
return {number(now), refilled, yours and 1 or 0, rest[1] or '', rest[2] or ''}
