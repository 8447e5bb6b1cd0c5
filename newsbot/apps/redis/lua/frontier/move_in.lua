-- move_in(now, number of hosts, [host, its record, ...], [fingerprint, record, token and owner, ...]) -> 1
--   Takes hosts and entries of another queue, as they are there. Those that are here already stay unchanged.
-- Keys: all of 1-15, see lib.lua

local first = 3 + 2 * tonumber(ARGV[2])
for place = 3, first - 1, 2 do
  local delay, concurrency, last_turn, next_turn = struct.unpack('>dIdd', ARGV[place + 1])
  redis.call('HSETNX', KEYS[13], ARGV[place],
    struct.pack('>dIddII', delay, concurrency, last_turn, next_turn, 0, 0)) -- its entries are counted below
end
local last = tonumber(redis.call('HGET', KEYS[1], 'seq') or 0)
for place = first, #ARGV, 3 do
  local fingerprint = ARGV[place]
  if redis.call('HSETNX', KEYS[2], fingerprint, ARGV[place + 1]) == 1 then
    local record = load(fingerprint)
    become(fingerprint, record, record.state, record.at, ARGV[place + 2])
    last = math.max(last, record.number)
  end
end
redis.call('HSET', KEYS[1], 'seq', number(last)) -- new entries come after those that were moved
put_hosts()
return 1
