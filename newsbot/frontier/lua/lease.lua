-- lease(now, horizon, limit, ttl, owner, call, batch, [host, ...]) -> now, then fingerprint, record of each lease
--   Hands out up to limit entries due at or before horizon, for ttl seconds; only from the hosts given, or
--   from all if none is; of suspects one, and none if the owner has one. call: 16 bytes that no other call
--   has, the token of all its leases.
--   Without hosts it first does what time alone brings (batch entries of each sort); with hosts, the caller
--   has called turns just before.
-- Keys: all of 1-15, see lib.lua

local now = present()
local horizon, limit, ttl = horizon_of(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local holder = ARGV[6] .. ARGV[5]
local PAGE = 64

-- The best entries of a host that are due: count of them after the first skip ones. What is later is ready
-- for another worker only; it may be very many, so that the rest of its priority is passed over at once.
local function best(name, wanted, skip)
  local found, from, page = {}, '[' .. name .. '\0', wanted + skip
  while true do
    local members = redis.call('ZRANGEBYLEX', KEYS[3], from, '(' .. name .. '\1', 'LIMIT', 0, page)
    local behind
    for _, member in ipairs(members) do
      if unsorted(member:sub(-32, -25)) > horizon then
        behind = member:sub(1, -33) .. '\255\255' -- no due time sorts behind this
        break
      elseif skip > 0 then
        skip = skip - 1
      else
        found[#found + 1] = member:sub(-16)
        if #found == wanted then
          return found
        end
      end
    end
    if not behind and #members < page then
      return found
    end
    from = '(' .. (behind or members[#members])
  end
end

local chosen, roomy = {}, {}
local suspect, suspect_host -- what the owner may have of them

local function holds_suspect()
  for _, fingerprint in ipairs(of_owner(ARGV[5])) do
    if load(fingerprint).lost > 0 then
      return true
    end
  end
  return false
end

local function hosts_given() -- nil: all
  if #ARGV == 7 then
    return nil
  end
  local given = {}
  for place = 8, #ARGV do
    given[ARGV[place]] = true
  end
  return given
end

-- Of all hosts with suspects whose turn has come, the one whose suspect lost the fewest leases, then the one
-- whose turn came first. Mostly there are none.
local function pick_suspect()
  local given, from, checked = hosts_given(), '[\0', false
  local fewest
  while true do
    local member = redis.call('ZRANGEBYLEX', KEYS[3], from, '(\1', 'LIMIT', 0, 1)[1]
    if not member or not checked and holds_suspect() then
      return
    end
    checked = true
    local name = member:sub(2, -42) -- between its NUL and NUL priority due number fingerprint
    local host = host_of(name)
    if (not given or given[name]) and host.leased < host.concurrency and host.next_turn <= now then
      local fingerprint = best('\0' .. name, 1, 0)[1]
      local lost = fingerprint and load(fingerprint).lost
      if fingerprint and (not suspect or lost < fewest
        or lost == fewest and host.next_turn < host_of(suspect_host).next_turn) then
        suspect, suspect_host, fewest = fingerprint, name, lost
      end
    end
    from = '(\0' .. name .. '\1'
  end
end

local function first_of(name)
  local host = host_of(name)
  local fingerprint = name == suspect_host and suspect or best(name, 1, 0)[1]
  if fingerprint then
    chosen[#chosen + 1] = fingerprint
    if host.delay == 0 and host.concurrency - host.leased > 1 then
      roomy[#roomy + 1] = name
    end
  end
end

local function from_hosts_given()
  pick_suspect()
  for place = 8, #ARGV do
    local host = host_of(ARGV[place])
    if host.ready > 0 and host.leased < host.concurrency and host.next_turn <= now then
      first_of(ARGV[place])
    end
    if #chosen >= limit then
      return
    end
  end
end

local function from_all_hosts()
  settle(now, horizon, tonumber(ARGV[7]))
  put_hosts()
  pick_suspect()
  local offset = 0
  repeat
    local names = redis.call('ZRANGEBYSCORE', KEYS[14], '-inf', number(now), 'LIMIT', offset, PAGE)
    for _, name in ipairs(names) do
      first_of(name)
      if #chosen >= limit then
        return
      end
    end
    offset = offset + PAGE
  until #names < PAGE
end

-- From hosts without a delay, as many more as they have room for, the hosts taking turns.
local function from_roomy_hosts()
  local more = {}
  for place, name in ipairs(roomy) do
    local host = host_of(name)
    more[place] = best(name, math.min(host.concurrency - host.leased - 1, limit - #chosen),
      name == suspect_host and 0 or 1)
  end
  local turn, any = 1, true
  while any do
    any = false
    for _, fingerprints in ipairs(more) do
      if #chosen >= limit then
        return
      end
      if fingerprints[turn] then
        chosen[#chosen + 1] = fingerprints[turn]
        any = true
      end
    end
    turn = turn + 1
  end
end

if #ARGV > 7 then
  from_hosts_given()
else
  from_all_hosts()
end
if #chosen < limit then
  from_roomy_hosts()
end

local reply = {number(now)}
for _, fingerprint in ipairs(chosen) do
  local record = load(fingerprint)
  move(fingerprint, record, 'l', now + ttl, holder)
  local host = host_of(record.host)
  host.last_turn, host.next_turn = now, now + host.delay
  reply[#reply + 1] = fingerprint
  reply[#reply + 1] = pack(record)
end
put_hosts()
return reply
