-- mark(now, queues, field, value, ...) -> now
--   Sets the number of queues, and fields of meta (value empty: the field is deleted).
-- Keys: meta (1, see lib.lua)

redis.call('HSET', KEYS[1], 'queues', ARGV[2])
for place = 3, #ARGV, 2 do
  if ARGV[place + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[place])
  else
    redis.call('HSET', KEYS[1], ARGV[place], ARGV[place + 1])
  end
end
return number(present())
