-- outlook(now, horizon, batch) -> identity, now, overdue, leases out, pending, next moment, host
--   Settles up to batch entries of each state first (see lib.lua). overdue: number of entries that
--   are still to be settled. They are not included in pending and in the next moment at which an entry can be
--   leased (empty: never). host: the host of that entry (empty: unknown).
--   Only entries that are due at or before horizon count.
--   At most MOST hosts of each list and MOST held entries are looked at. If there are more, the next moment may
--   be too early, and pending may include held entries that are due after the horizon.
-- Keys: all of 1-15, see lib.lua

local MOST = 100
local now, horizon = present(), horizon_of(ARGV[2])
settle(now, horizon, tonumber(ARGV[3]))
put_hosts()

local overdue = redis.call('ZCOUNT', KEYS[9], '-inf', number(now)) + redis.call('ZCOUNT', KEYS[5], '-inf',
  number(horizon)) + redis.call('ZCOUNT', KEYS[7], '-inf', number(horizon))
-- Entries that are ready only for the later horizon of another worker
local later = redis.call('ZCOUNT', KEYS[4], '(' .. number(horizon), '+inf')
local total = redis.call('ZCARD', KEYS[3]) - later
local soonest, soonest_host

local function note(moment, name)
  if not soonest or moment < soonest then
    soonest, soonest_host = moment, name
  end
end

-- Calls look(member, score) for up to MOST members in the order of their scores, until no score can be the next
-- moment any more.
local function in_order(key, look)
  local found = redis.call('ZRANGE', key, 0, MOST, 'WITHSCORES')
  for place = 1, #found, 2 do
    local score = tonumber(found[place + 1])
    if soonest and score >= soonest then
      return
    elseif place > 2 * MOST then
      note(score, '')
    else
      look(found[place], score)
    end
  end
end

local function look_at_host(name)
  if later == 0 or best(name, 1, 0, horizon)[1] or best('\0' .. name, 1, 0, horizon)[1] then
    note(opens(name, host_of(name)), name)
  end
end

if total > 0 then
  in_order(KEYS[14], look_at_host)
  in_order(KEYS[15], look_at_host)
end
-- held: fingerprint (16 bytes), due (8), host
in_order(KEYS[6], function(member, score)
  if struct.unpack('>d', member, 17) <= horizon then
    local name = member:sub(25)
    note(math.max(score, opens(name, host_of(name))), name)
  end
end)
total = total + redis.call('ZCARD', KEYS[6])
for _, member in ipairs(redis.call('ZRANGE', KEYS[6], 0, MOST - 1)) do
  if struct.unpack('>d', member, 17) > horizon then
    total = total - 1
  end
end

local leased = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[12], 0, -1)) do
  -- out, from the end: fingerprint (16 bytes), due (8), deadline (8), NUL. An expired lease is counted as
  -- overdue above.
  if unsorted(member:sub(-32, -25)) > now and struct.unpack('>d', member, #member - 23) <= horizon then
    leased = leased + 1
  end
end
return {redis.call('HGET', KEYS[1], 'identity') or '', number(now), overdue, leased, total,
  soonest and number(soonest) or '', soonest_host or ''}
