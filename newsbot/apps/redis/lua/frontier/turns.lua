-- turns(now, horizon, batch, offset, limit, [host, ...]) -> the hosts whose turn has come, in the order of their
--   turns, or those of the hosts given
--   Settles up to batch entries of each state first (see lib.lua).
-- Keys: all of 1-15, see lib.lua

local now = present()
settle(now, horizon_of(ARGV[2]), tonumber(ARGV[3]))
-- This comes before the range is read, because settling changes the sets of hosts.
put_hosts()
if #ARGV > 5 then
  local given = {unpack(ARGV, 6)}
  local names = {}
  for place, turn in ipairs(redis.call('ZMSCORE', KEYS[14], unpack(given))) do
    if turn and tonumber(turn) <= now then
      names[#names + 1] = given[place]
    end
  end
  return names
end
-- A range by rank. A range by score would first walk over all hosts before the offset.
local found, names = redis.call('ZRANGE', KEYS[14], ARGV[4], ARGV[4] + ARGV[5] - 1, 'WITHSCORES'), {}
for place = 1, #found, 2 do
  if tonumber(found[place + 1]) <= now then
    names[#names + 1] = found[place]
  end
end
return names
