-- lease(now, horizon, limit, ttl, owner, call, batch, alone, suspects, offset, [host, ...]) -> now, number of hosts that
--   were looked at (empty: there are no more), then fingerprint, record of each lease
--   Leases up to limit entries that are due at or before horizon, for ttl seconds. Only the hosts given are
--   used, or all hosts if none is given. At most one entry is a suspect, and none if the owner holds one.
--   call: 16 bytes unique to this call, the token of all its leases. alone: '1' to lease a suspect that must
--   be leased alone, if there is nothing else. suspects: '1' unless the owner holds a suspect of another queue.
--   Without hosts the script first settles up to batch entries of each state (see settle in lib.lua). With
--   hosts, the caller has run turns just before, which settles as well.
--   offset: without hosts, the number of hosts to skip in the order of their turns. One call looks at up to MOST
--   hosts, because there may be very many hosts whose entries are all due after the horizon.
-- Keys: all of 1-15, see lib.lua

local now = present()
keep_pace(now)
local horizon, limit, ttl = horizon_of(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local holder = ARGV[6] .. ARGV[5]
local PAGE, MOST = 64, 128

local chosen, roomy = {}, {}
local more = '' -- number of hosts that were looked at, if there are more
local suspect, suspect_host -- the suspect that the owner may lease; nil: none

local function hosts_given() -- as a set; nil: all hosts
  if #ARGV == 10 then
    return nil
  end
  local given = {}
  for place = 11, #ARGV do
    given[ARGV[place]] = true
  end
  return given
end

-- Sets suspect and suspect_host. Only hosts whose turn has come are considered. The suspect with the fewest
-- lost leases is chosen; among equals, the suspect of the host whose turn came first. Usually there are no
-- suspects.
local function pick_suspect(least, most)
  if ARGV[9] ~= '1' then
    return
  end
  local given, from, checked = hosts_given(), '[\0', false
  local fewest
  while true do
    local member = redis.call('ZRANGEBYLEX', KEYS[3], from, '(\1', 'LIMIT', 0, 1)[1]
    -- The leases of the owner are loaded only if there is a suspect.
    if not member or not checked and holds_suspect(ARGV[5]) then
      return
    end
    checked = true
    local name = member:sub(2, -42) -- without NUL in front, and NUL priority due number fingerprint
    local host = host_of(name)
    if (not given or given[name]) and host.leased < host.concurrency and host.next_turn <= now then
      local fingerprint = best('\0' .. name, 1, 0, horizon)[1]
      local lost = fingerprint and load(fingerprint).lost
      if fingerprint and lost >= least and lost <= most and (not suspect or lost < fewest
        or lost == fewest and host.next_turn < host_of(suspect_host).next_turn) then
        suspect, suspect_host, fewest = fingerprint, name, lost
      end
    end
    from = '(\0' .. name .. '\1' -- after all suspects of this host
  end
end

local function first_of(name)
  local host = host_of(name)
  if host.next_turn > now then -- the list was not corrected after a restart of the server (keep_pace)
    return
  end
  -- The suspect is leased instead of the best entry of its host, so each host gives one entry per turn.
  local fingerprint = name == suspect_host and suspect or best(name, 1, 0, horizon)[1]
  if fingerprint then
    chosen[#chosen + 1] = fingerprint
    if host.delay == 0 and host.concurrency - host.leased > 1 then
      roomy[#roomy + 1] = name
    end
  end
end

local function from_hosts_given()
  pick_suspect(1, ALONE - 1)
  for place = 11, #ARGV do
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
  pick_suspect(1, ALONE - 1)
  local offset = tonumber(ARGV[10])
  for looked = 0, MOST - PAGE, PAGE do
    local names = redis.call('ZRANGEBYSCORE', KEYS[14], '-inf', number(now), 'LIMIT', offset + looked, PAGE)
    for _, name in ipairs(names) do
      first_of(name)
      if #chosen >= limit then
        return
      end
    end
    if #names < PAGE then
      return
    end
  end
  more = MOST
end

-- Leases more entries of hosts without a delay, up to their concurrency, one entry per host in rotation.
local function from_roomy_hosts()
  local more = {}
  for place, name in ipairs(roomy) do
    local host = host_of(name)
    more[place] = best(name, math.min(host.concurrency - host.leased - 1, limit - #chosen),
      name == suspect_host and 0 or 1, horizon)
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

if #ARGV > 10 then
  from_hosts_given()
else
  from_all_hosts()
end
if #chosen < limit then
  from_roomy_hosts()
end
if #chosen == 0 and ARGV[8] == '1' and more == '' then
  pick_suspect(ALONE, MAX_LOST - 1)
  chosen[1] = suspect
end

local reply = {number(now), more}
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
