-- outlook(now, horizon, batch, by_host) -> identity, now, overdue, leases out, pending, next moment,
--                                         [host, leases out, pending, next moment, ...]
--   Settles up to batch entries of each state first (see lib.lua). overdue: number of entries that
--   are still to be settled. They are not included in pending and in the next moment at which an entry can be
--   leased (empty: never).
--   Only entries that are due at or before horizon count. by_host: '1' for the list of hosts.
-- Keys: all of 1-15, see lib.lua

local now = present()
local horizon, by_host = horizon_of(ARGV[2]), ARGV[4] == '1'
settle(now, horizon, tonumber(ARGV[3]))
put_hosts()

local lapsed = redis.call('ZCOUNT', KEYS[9], '-inf', number(now))
local overdue = lapsed + redis.call('ZCOUNT', KEYS[5], '-inf', number(horizon))
  + redis.call('ZCOUNT', KEYS[7], '-inf', number(horizon))

local later = {} -- host -> entries that are ready only for the later horizon of another worker
local later_total = 0
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. number(horizon), '+inf')) do
  local name = member:sub(17)
  later[name] = (later[name] or 0) + 1
  later_total = later_total + 1
end

local function opens(name, host)
  if host.leased < host.concurrency then
    return host.next_turn
  end
  local first = redis.call('ZRANGEBYLEX', KEYS[12], '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, 1)[1]
  -- Members sort by deadline, so the first one is the lease that expires first.
  return first and math.max(host.next_turn, unsorted(first:sub(-32, -25))) or host.next_turn
end

local pending, moments, leased = {}, {}, {}
local total, soonest, leased_total = 0, nil, 0

local function note(name, urls, moment)
  total = total + urls
  if not soonest or moment < soonest then soonest = moment end
  if by_host then
    pending[name] = (pending[name] or 0) + urls
    moments[name] = math.min(moments[name] or moment, moment)
  end
end

-- Without a list of hosts, one host that can be leased from now is a sufficient answer.
local function one_is_open()
  local name = redis.call('ZRANGEBYSCORE', KEYS[14], '-inf', number(now), 'LIMIT', 0, 1)[1]
  return not by_host and later_total == 0 and name ~= nil
end

-- Without a list of hosts, the sorted sets are sufficient, and the other hosts need not be read.
local function all_hosts()
  total = redis.call('ZCARD', KEYS[3])
  soonest = tonumber(redis.call('ZRANGE', KEYS[14], 0, 0, 'WITHSCORES')[2])
  for _, name in ipairs(redis.call('ZRANGE', KEYS[15], 0, -1)) do -- at most as many as there are leases
    local moment = opens(name, host_of(name))
    soonest = soonest and math.min(soonest, moment) or moment
  end
end

if one_is_open() then
  soonest = now
  total = redis.call('ZCARD', KEYS[3])
elseif not by_host and later_total == 0 then
  all_hosts()
else
  for _, key in ipairs({KEYS[14], KEYS[15]}) do
    for _, name in ipairs(redis.call('ZRANGE', key, 0, -1)) do
      local host = host_of(name)
      local ready = host.ready - (later[name] or 0)
      if ready > 0 then note(name, ready, opens(name, host)) end
    end
  end
end
local held = redis.call('ZRANGE', KEYS[6], 0, -1, 'WITHSCORES')
for place = 1, #held, 2 do
  local member = held[place]
  -- held: fingerprint (16 bytes), due (8), host
  if struct.unpack('>d', member, 17) <= horizon then
    local name = member:sub(25)
    note(name, 1, math.max(tonumber(held[place + 1]), opens(name, host_of(name))))
  end
end

for _, member in ipairs(redis.call('ZRANGE', KEYS[12], 0, -1)) do
  -- out, from the end: fingerprint (16 bytes), due (8), deadline (8), NUL. An expired lease is counted as
  -- overdue above.
  if unsorted(member:sub(-32, -25)) > now and struct.unpack('>d', member, #member - 23) <= horizon then
    local name = member:sub(1, -34)
    leased[name] = (leased[name] or 0) + 1
    leased_total = leased_total + 1
    if by_host then pending[name] = pending[name] or 0 end -- the host must be in the answer
  end
end

local identity = redis.call('HGET', KEYS[1], 'identity') or ''
local reply = {identity, number(now), overdue, leased_total, total, soonest and number(soonest) or ''}
for name, urls in pairs(pending) do
  local last = #reply
  reply[last + 1], reply[last + 2] = name, leased[name] or 0
  reply[last + 3], reply[last + 4] = urls, moments[name] and number(moments[name]) or ''
end
return reply
