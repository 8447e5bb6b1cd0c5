-- aside(now, limit) -> fingerprint, record of the entries that were set aside last, newest first
-- Keys: entries, aside (2, 8, see lib.lua)

local reply = {}
for place, fingerprint in ipairs(redis.call('ZREVRANGE', KEYS[8], 0, tonumber(ARGV[2]) - 1)) do
  reply[2 * place - 1], reply[2 * place] = fingerprint, redis.call('HGET', KEYS[2], fingerprint)
end
return reply
