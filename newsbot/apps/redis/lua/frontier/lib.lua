-- The common part of all scripts. newsbot/apps/redis/connection.py puts this text in front of each of them.
--
-- Keys. All keys of a queue share one hash tag, {newsbot:QUEUE}, so that one script may use them in Redis Cluster.
-- Every script gets all of them in KEYS, in this order. A script never builds the name of a key itself.
--   KEYS[1]  meta     HASH  version, seq (last entry number), known, level and split (see known URLs),
--                           identity (a random name; it is missing after the server lost its data), storage
--                           (the identity of the storage that this frontier is refilled from),
--                           refilled, refiller, refiller_until and filling (see refill.lua), process, beat,
--                           lost_from and compare (see resume.lua), queues (the number of queues, or 4>6 while it
--                           changes; missing: 1), and in the first queue known_from and known_at (see
--                           queues.py)
--   KEYS[2]  entries  HASH  fingerprint -> record (see pack) of every entry that is kept in full
--   KEYS[3]  queue    ZSET  score 0; host NUL priority due number fingerprint: members sort in lease order;
--                           a suspect (it lost a lease; one is leased at a time) has a NUL before the host
--   KEYS[4]  dated    ZSET  ready entries with a due time: fingerprint host, by due time
--   KEYS[5]  waiting  ZSET  fingerprint by due time: pending, and no horizon has reached it yet
--   KEYS[6]  held     ZSET  fingerprint due host, by the end of the delay after a failure
--   KEYS[7]  due      ZSET  fingerprint by next due time: done and kept in full; inf: never due again
--   KEYS[8]  aside    ZSET  fingerprint by the time at which it was set aside
--   KEYS[9]  leases   ZSET  fingerprint by deadline
--   KEYS[10] holders  HASH  fingerprint -> token (16 bytes) owner
--   KEYS[11] owned    ZSET  score 0; owner NUL fingerprint
--   KEYS[12] out      ZSET  score 0; host NUL deadline due fingerprint: a host's first lease expires first
--   KEYS[13] hosts    HASH  host -> politeness and counters (see put_hosts)
--   KEYS[14] turns    ZSET  hosts with a ready entry and room for a lease, by next turn
--   KEYS[15] full     ZSET  hosts with a ready entry and no room for a lease, by next turn
--   KEYS[16..]        HASH  two buckets for each fingerprint in the arguments, see known URLs
-- ARGV[1] is always the current time in POSIX seconds, a space, and the number of queues that the caller knows. The
-- time is empty except in tests: then the server's TIME counts. If the number of queues differs, the script changes
-- nothing and returns the error QUEUES.
--
-- Known URLs are done and not due again. A URL that was marked as done while it was pending is kept in full
-- instead: it may be marked again with a due time, and its priority is then needed.
-- A known URL is stored as one field of a hash, its bucket: the remaining bits of the fingerprint -> the
-- minute of the last fetch (empty: never fetched). Redis stores hashes as small as the buckets as listpacks.
-- Minutes count from 2034. From 2018 to 2049 they fit 24 bits, which saves one byte in a listpack compared
-- with seconds.
-- The number of buckets grows by linear hashing (Litwin 1980). At level b, bucket i holds the fingerprints
-- whose first b bits are i. Buckets with i < split have been split into two buckets of level b + 1.
-- 60 bits of a fingerprint are used: b bits select the bucket, 60 - b bits are the field. An unknown URL
-- therefore looks known with a probability of (known URLs) / 2^60: below 1 in 10^9 up to 1.15 * 10^9 URLs.
-- A caller passes the bucket of each fingerprint at its level and at the next. If the level has changed in
-- the meantime, the script changes nothing and returns the error LEVEL.

local NOW, QUEUES = ARGV[1]:match('^(%S*) (%S+)$')
if (redis.call('HGET', KEYS[1], 'queues') or '1') ~= QUEUES then
  return redis.error_reply('QUEUES')
end

local ALONE = 4 -- as in newsbot/frontier/base.py
local MAX_LOST = ALONE + 1
local NEVER = -1
local MIDDLE = 2019686400 -- 2034-01-01 in POSIX seconds
local FIRST_LEVEL = 8 -- the other 52 bits of a fingerprint then fit a Lua number

local function horizon_of(text) -- finite, so that entries that are never due (inf) are always beyond it
  return math.min(tonumber(text), 1e300)
end

local function number(value) -- as text without loss of precision
  return string.format('%.17g', value)
end

local function present()
  if NOW ~= '' then
    return tonumber(NOW)
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

-- --- numbers as 8 bytes whose byte order is the order of the numbers
-- The bytes of positive IEEE 754 numbers are already in order if the sign bit is set. Those of negative numbers are
-- in reverse order, so all of their bits are inverted.

local function inverted(bytes)
  local high, low = struct.unpack('>I4I4', bytes)
  return struct.pack('>I4I4', 4294967295 - high, 4294967295 - low)
end

local function sortable(value)
  local bytes = struct.pack('>d', value + 0) -- IEEE 754; + 0 turns -0 into 0
  local first = bytes:byte(1)
  if first >= 128 then
    return inverted(bytes)
  end
  return string.char(first + 128) .. bytes:sub(2)
end

local function unsorted(bytes)
  local first = bytes:byte(1)
  if first >= 128 then
    return (struct.unpack('>d', string.char(first - 128) .. bytes:sub(2)))
  end
  return (struct.unpack('>d', inverted(bytes)))
end

-- --- records
-- state: r ready, w waiting, h held back, l leased, d done, a aside. at: when the state ends by itself.
-- body: JSON of the caller; only tell in add.lua reads it.

local LAYOUT = '>c1HBdddddHc0Hc0'

local function pack(record)
  return struct.pack(LAYOUT, record.state, math.min(record.attempts, 65535), record.lost, record.at,
    record.priority, record.due, record.fetched, record.number, #record.host, record.host,
    #record.note, record.note) .. record.body
end

local function load(fingerprint)
  local text = redis.call('HGET', KEYS[2], fingerprint)
  if not text then
    return nil
  end
  local record = {}
  local rest
  record.state, record.attempts, record.lost, record.at, record.priority, record.due, record.fetched,
    record.number, record.host, record.note, rest = struct.unpack(LAYOUT, text)
  record.body = text:sub(rest)
  return record
end

-- --- hosts: loaded when first needed, written once at the end of a script

local hosts = {}
local since = NEVER -- see keep_pace

-- After a restart or a failover, the server may lack the last turns. Then the next turn of each host is at
-- least a delay after the time at which the new server process was noticed. Scripts that give turns call this
-- first.
local function keep_pace(now)
  local process = redis.call('INFO', 'server'):match('run_id:(%x+)')
  local noted = redis.call('HMGET', KEYS[1], 'paced_by', 'paced_since')
  since = tonumber(noted[2] or NEVER)
  if noted[1] ~= process then
    since = noted[1] and now or NEVER
    redis.call('HSET', KEYS[1], 'paced_by', process, 'paced_since', number(since))
  end
end

local function index_of(host) -- the key that lists the host by turn; nil: it has no ready entry
  if host.ready > 0 then
    return host.leased < host.concurrency and KEYS[14] or KEYS[15]
  end
  return nil
end

local function host_of(name)
  local host = hosts[name]
  if host then
    return host
  end
  local text = redis.call('HGET', KEYS[13], name)
  if text then
    local delay, concurrency, last_turn, next_turn, ready, leased = struct.unpack('>dIddII', text)
    host = {delay = delay, concurrency = concurrency, last_turn = last_turn, next_turn = next_turn,
      ready = ready, leased = leased}
    host.listed, host.listed_at = index_of(host), next_turn
  else
    host = {delay = 1, concurrency = 1, last_turn = NEVER, next_turn = present(), ready = 0, leased = 0,
      changed = true}
  end
  if host.last_turn < since and host.next_turn < since + host.delay then
    host.next_turn, host.changed = since + host.delay, true
  end
  hosts[name] = host
  return host
end

local function put_hosts()
  for name, host in pairs(hosts) do
    if host.changed then
      redis.call('HSET', KEYS[13], name, struct.pack('>dIddII', host.delay, host.concurrency,
        host.last_turn, host.next_turn, host.ready, host.leased))
      local list = index_of(host)
      -- The member moves from one of the two lists to the other, or leaves both.
      if host.listed and host.listed ~= list then
        redis.call('ZREM', host.listed, name)
      end
      if list and (list ~= host.listed or host.next_turn ~= host.listed_at) then
        redis.call('ZADD', list, number(host.next_turn), name)
      end
      host.listed, host.listed_at = list, host.next_turn
      host.changed = false
    end
  end
end

local function count(name, counter, by)
  local host = host_of(name)
  host[counter] = host[counter] + by
  host.changed = true
end

-- Returns the best due entries of a host: `wanted` entries after the first `skip`. Entries that are due after
-- the horizon are ready for another worker only. There may be very many of them. Entries of equal priority
-- are sorted by due time, so after the first such entry the next seek skips the rest of its priority.
local function best(name, wanted, skip, horizon)
  local found, from, page = {}, '[' .. name .. '\0', wanted + skip
  while true do
    -- Host names have no control characters, so these bounds select exactly the members of this host.
    local members = redis.call('ZRANGEBYLEX', KEYS[3], from, '(' .. name .. '\1', 'LIMIT', 0, page)
    local behind
    for _, member in ipairs(members) do
      if unsorted(member:sub(-32, -25)) > horizon then
        behind = member:sub(1, -33) .. '\255\255' -- sorts after every due time
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
    if not behind and #members < page then -- the host has no more entries
      return found
    end
    from = '(' .. (behind or members[#members])
  end
end

-- Returns the time from which an entry of the host can be leased.
local function opens(name, host)
  if host.leased < host.concurrency then
    return host.next_turn
  end
  local first = redis.call('ZRANGEBYLEX', KEYS[12], '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, 1)[1]
  -- Members sort by deadline, so the first one is the lease that expires first.
  return first and math.max(host.next_turn, unsorted(first:sub(-32, -25))) or host.next_turn
end

-- --- from state to state

-- Higher priorities sort first, so the priority is negated. 1e9 is more than any priority, so the number of
-- lost leases decides first.
local function queued_as(fingerprint, record) -- suspects with fewer lost leases sort first
  return (record.lost > 0 and '\0' or '') .. record.host .. '\0'
    .. sortable(record.lost * 1e9 - record.priority) .. sortable(record.due)
    .. sortable(record.number) .. fingerprint
end

local function held_as(fingerprint, record)
  return fingerprint .. struct.pack('>d', record.due) .. record.host
end

-- The deadline sorts the leases of a host. due is only carried along, so that outlook.lua need not load the
-- record.
local function out_as(fingerprint, record)
  return record.host .. '\0' .. sortable(record.at) .. struct.pack('>d', record.due) .. fingerprint
end

local leave = {
  r = function(fingerprint, record)
    redis.call('ZREM', KEYS[3], queued_as(fingerprint, record))
    if record.due > 0 then redis.call('ZREM', KEYS[4], fingerprint .. record.host) end
    count(record.host, 'ready', -1)
  end,
  w = function(fingerprint) redis.call('ZREM', KEYS[5], fingerprint) end,
  h = function(fingerprint, record) redis.call('ZREM', KEYS[6], held_as(fingerprint, record)) end,
  d = function(fingerprint) redis.call('ZREM', KEYS[7], fingerprint) end,
  a = function(fingerprint) redis.call('ZREM', KEYS[8], fingerprint) end,
  l = function(fingerprint, record)
    redis.call('ZREM', KEYS[9], fingerprint)
    local owner = redis.call('HGET', KEYS[10], fingerprint):sub(17) -- after the token of 16 bytes
    redis.call('HDEL', KEYS[10], fingerprint)
    redis.call('ZREM', KEYS[11], owner .. '\0' .. fingerprint)
    redis.call('ZREM', KEYS[12], out_as(fingerprint, record))
    count(record.host, 'leased', -1)
  end,
}

local enter = {
  r = function(fingerprint, record)
    redis.call('ZADD', KEYS[3], 0, queued_as(fingerprint, record))
    if record.due > 0 then redis.call('ZADD', KEYS[4], number(record.due), fingerprint .. record.host) end
    count(record.host, 'ready', 1)
  end,
  w = function(fingerprint, record) redis.call('ZADD', KEYS[5], number(record.at), fingerprint) end,
  h = function(fingerprint, record)
    redis.call('ZADD', KEYS[6], number(record.at), held_as(fingerprint, record))
  end,
  d = function(fingerprint, record) redis.call('ZADD', KEYS[7], number(record.at), fingerprint) end,
  a = function(fingerprint, record) redis.call('ZADD', KEYS[8], number(record.at), fingerprint) end,
  l = function(fingerprint, record, holder)
    redis.call('ZADD', KEYS[9], number(record.at), fingerprint)
    redis.call('HSET', KEYS[10], fingerprint, holder)
    redis.call('ZADD', KEYS[11], 0, holder:sub(17) .. '\0' .. fingerprint)
    redis.call('ZADD', KEYS[12], 0, out_as(fingerprint, record))
    count(record.host, 'leased', 1)
  end,
}

local function become(fingerprint, record, state, at, holder) -- call leave first, for an entry that exists
  record.state, record.at = state, at
  enter[state](fingerprint, record, holder)
  redis.call('HSET', KEYS[2], fingerprint, pack(record))
end

local function move(fingerprint, record, state, at, holder)
  leave[record.state](fingerprint, record)
  become(fingerprint, record, state, at, holder)
end

local function wait(fingerprint, record) -- an entry without a due time is ready immediately
  if record.due <= 0 then
    become(fingerprint, record, 'r', 0)
  else
    become(fingerprint, record, 'w', record.due)
  end
end

local function lose(fingerprint, now) -- counts a lease as lost, because its owner died or hung
  local record = load(fingerprint)
  record.lost = record.lost + 1
  record.attempts = record.attempts + 1
  if record.lost < MAX_LOST then
    move(fingerprint, record, 'w', record.due)
  else
    record.note = record.lost .. ' leases lost in a row: the workers that held this entry died or hung'
    move(fingerprint, record, 'a', now)
  end
end

local function expired(now, batch)
  return redis.call('ZRANGEBYSCORE', KEYS[9], '-inf', number(now), 'LIMIT', 0, batch)
end

-- Moves entries whose time has come: expired leases, ended delays, due entries. At most batch entries of each
-- state, so that a million due entries do not block the server.
local function settle(now, horizon, batch)
  -- First the leases, then the delays, then the due entries: the first two loops make entries waiting, and the
  -- third loop makes those entries ready that are due.
  for _, fingerprint in ipairs(expired(now, batch)) do
    lose(fingerprint, now)
  end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', number(now), 'LIMIT', 0, batch)) do
    local fingerprint = member:sub(1, 16)
    local record = load(fingerprint)
    if record.due <= horizon then
      move(fingerprint, record, 'r', 0)
    else
      move(fingerprint, record, 'w', record.due)
    end
  end
  for _, key in ipairs({KEYS[5], KEYS[7]}) do
    for _, fingerprint in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', number(horizon), 'LIMIT', 0, batch)) do
      local record = load(fingerprint)
      leave[record.state](fingerprint, record)
      record.due = record.at -- for a done entry the next due time becomes the due time
      become(fingerprint, record, 'r', 0)
    end
  end
end

-- --- leases of an owner

local function of_owner(owner)
  local fingerprints = {}
  -- Owners have no control characters, so exactly the members of this owner are between owner NUL and owner
  -- SOH.
  for place, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[11], '[' .. owner .. '\0', '(' .. owner .. '\1')) do
    fingerprints[place] = member:sub(-16)
  end
  return fingerprints
end

local function holds_suspect(owner)
  for _, fingerprint in ipairs(of_owner(owner)) do
    if load(fingerprint).lost > 0 then
      return true
    end
  end
  return false
end

local function record_of_lease(fingerprint, token) -- nil if the caller no longer holds the lease
  local holder = redis.call('HGET', KEYS[10], fingerprint)
  if holder and holder:sub(1, 16) == token then
    return load(fingerprint)
  end
  return nil
end

-- --- known URLs

local level, split

local function known_level(given) -- false if the caller's level is outdated; see the head of this file
  local state = redis.call('HMGET', KEYS[1], 'level', 'split')
  level, split = tonumber(state[1] or FIRST_LEVEL), tonumber(state[2] or 0)
  return level == tonumber(given)
end

local function level_changed()
  return redis.error_reply('LEVEL ' .. level)
end

local function field_of(rest, bits) -- the last bits of the 60 as a number -> bytes
  return struct.pack('>I' .. math.ceil(bits / 8), rest)
end

local function located(fingerprint, place) -- -> bucket, field; place: index in the caller's list, from 0
  local high, low = struct.unpack('>I4I4', fingerprint)
  -- Lua numbers are doubles, exact up to 2^53, so the 64 bits are handled as two halves of 32. The first
  -- `level` bits of the first half select the bucket. Its other bits and 28 bits of the second half are the
  -- field.
  local behind = 2 ^ (32 - level)
  local own, key = level, 16 + 2 * place
  if math.floor(high / behind) < split then
    own, key, behind = level + 1, key + 1, behind / 2
  end
  return KEYS[key], field_of((high % behind) * 2 ^ 28 + math.floor(low / 16), 60 - own)
end

local function last_fetch(fingerprint, place) -- POSIX seconds; nil: not known; NEVER: known but never fetched
  local text = redis.call('HGET', located(fingerprint, place))
  local minute = tonumber(text or '')
  if not minute then
    return text and NEVER or nil
  end
  return MIDDLE + 60 * minute
end

local function keep_known(fingerprint, place, fetched) -- -> the number of known URLs
  local bucket, field = located(fingerprint, place)
  -- Rounded up, so the stored time is never before the fetch: FETCH_STEP of base.py promises this.
  local value = fetched == NEVER and '' or string.format('%d', math.ceil((fetched - MIDDLE) / 60))
  -- HSET returns 1 if the field is new and 0 if it was replaced, so the URL is counted once.
  return redis.call('HINCRBY', KEYS[1], 'known', redis.call('HSET', bucket, field, value))
end

local function forget_known(fingerprint, place)
  redis.call('HINCRBY', KEYS[1], 'known', -redis.call('HDEL', located(fingerprint, place)))
end

local function next_number()
  return redis.call('HINCRBY', KEYS[1], 'seq', 1)
end
