-- watch(now) -> now, the earliest due time that has passed (empty: none), then owner, number of leases and
--   first deadline of each owner
-- Keys: dated, waiting, due, leases, holders (4, 5, 7, 9, 10, see lib.lua)

local now = present()
local late = ''
for _, key in ipairs({KEYS[4], KEYS[5], KEYS[7]}) do
  -- The range excludes 0, because an entry without a due time is not late.
  local first = redis.call('ZRANGEBYSCORE', key, '(0', number(now), 'WITHSCORES', 'LIMIT', 0, 1)
  if first[2] and (late == '' or tonumber(first[2]) < tonumber(late)) then
    late = first[2]
  end
end

local answer, places = {number(now), late}, {}
local leases = redis.call('ZRANGE', KEYS[9], 0, -1, 'WITHSCORES')
for at = 1, #leases, 2 do
  local holder = redis.call('HGET', KEYS[10], leases[at])
  local owner = holder and holder:sub(17) or ''
  local place = places[owner]
  if place then
    answer[place + 1] = answer[place + 1] + 1
  else
    places[owner] = #answer + 1
    answer[#answer + 1] = owner
    answer[#answer + 1] = 1
    answer[#answer + 1] = leases[at + 1]
  end
end
return answer
