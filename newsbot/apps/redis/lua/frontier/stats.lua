-- stats(now) -> pending, leased, done, aside, hosts, and how many of the done URLs are known URLs
-- Keys: meta, queue, waiting, held, due, aside, leases, hosts (1, 3, 5-9, 13, see lib.lua)

local known = tonumber(redis.call('HGET', KEYS[1], 'known') or 0)
return {
  redis.call('ZCARD', KEYS[3]) + redis.call('ZCARD', KEYS[5]) + redis.call('ZCARD', KEYS[6]),
  redis.call('ZCARD', KEYS[9]),
  redis.call('ZCARD', KEYS[7]) + known,
  redis.call('ZCARD', KEYS[8]),
  redis.call('HLEN', KEYS[13]),
  known,
}
