-- resume(now, ttl, owner, identity, process, fingerprint, token, ...) -> the number of the owner's leases,
--   identity, process
--   The heartbeat of the owner, which passes all leases that it has: two values for each. They end ttl seconds
--   from now. The owner gets reclaimed leases again, unless another owner has them; their loss is not counted.
--   Other leases of the owner are returned to the queue: the frontier has lost their end, or the response of
--   lease did not reach the owner.
--   identity: stored as the identity of the data if they have none (they are new).
--   process: the Redis process that the caller knows; empty for none. Another process (a replica that became
--   the master, or a restart) may lack the last writes, but no earlier ones. All writes before the last beat (the
--   time of the last resume) are there if the beat is there. So the storage's pages that were added or planned
--   later are compared with the queue (compare, see refill.lua), and a MARGIN of pages that were stored, but
--   were queued only after an outage.
-- Keys: meta, entries, queue, dated, waiting, held, due, aside, leases, holders, owned, out, hosts, turns, full
--   (1-15, see lib.lua)

local now = present()
local deadline = now + tonumber(ARGV[2])
redis.call('HSETNX', KEYS[1], 'identity', ARGV[4])
local process = redis.call('INFO', 'server'):match('run_id:(%x+)')
local MARGIN = 3600
local state = redis.call('HMGET', KEYS[1], 'process', 'beat', 'lost_from', 'compare', 'refilled')
local before, lost_from = state[1] or process, tonumber(state[3] or '')
if before ~= process then
  lost_from = tonumber(state[2] or '')
end
if before ~= process or ARGV[5] ~= '' and ARGV[5] ~= process then
  -- The lock is removed because its holder may have queued pages that are lost now.
  redis.call('HDEL', KEYS[1], 'refiller', 'refiller_until')
  if lost_from then
    local compare = math.min(lost_from - MARGIN, tonumber(state[4] or 'inf'))
    redis.call('HSET', KEYS[1], 'lost_from', number(lost_from), 'compare', number(compare))
    if state[5] then
      redis.call('HSET', KEYS[1], 'refilled', number(math.min(compare, tonumber(state[5]))))
    end
  else -- an unknown time. Without "refilled" the next refill reads all pages of the storage.
    redis.call('HDEL', KEYS[1], 'refilled', 'filling', 'compare')
  end
end
redis.call('HSET', KEYS[1], 'process', process, 'beat', number(now))
-- States h and d are not in the list: in these states, another worker has leased the entry in between and
-- finished its visit.
local free = {r = true, w = true, a = true}
local kept, tokens = 0, {}

local function take(fingerprint, token)
  local record = load(fingerprint)
  local holder = redis.call('HGET', KEYS[10], fingerprint)
  if holder and holder:sub(1, 16) == token then
    move(fingerprint, record, 'l', deadline, holder)
    kept, tokens[fingerprint] = kept + 1, token
    return
  end
  local lost = record and record.lost > 0
  -- An entry that is aside without a lost lease was set aside by a worker, so it stays there.
  local takes = record and free[record.state] and (lost or record.state ~= 'a')
  if takes then
    leave[record.state](fingerprint, record)
  end
  if lost then
    record.lost, record.attempts = record.lost - 1, math.max(record.attempts - 1, 0)
  end
  if takes then
    record.note = ''
    become(fingerprint, record, 'l', deadline, token .. ARGV[3])
    kept, tokens[fingerprint] = kept + 1, token
  elseif lost then
    redis.call('HSET', KEYS[2], fingerprint, pack(record))
  end
end

for place = 6, #ARGV, 2 do
  take(ARGV[place], ARGV[place + 1])
end
-- A token that differs belongs to a lease that the caller does not know.
for _, fingerprint in ipairs(of_owner(ARGV[3])) do
  if redis.call('HGET', KEYS[10], fingerprint):sub(1, 16) ~= tokens[fingerprint] then
    local record = load(fingerprint)
    move(fingerprint, record, 'w', record.due)
  end
end
put_hosts()
return {kept, redis.call('HGET', KEYS[1], 'identity'), process}
