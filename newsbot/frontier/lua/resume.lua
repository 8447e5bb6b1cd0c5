-- resume(now, ttl, owner, identity, fingerprint, token, ...) -> the number of the owner's leases, identity
--   For leases that were not renewed in time because the server was unreachable. Leases that the owner still
--   holds end ttl seconds from now. Reclaimed ones are given to the owner again, unless another owner has
--   them. Their loss is not counted. identity: stored as the identity of the data if they have none (they are
--   new). Two values follow for each lease.
-- Keys: meta, entries, queue, dated, waiting, held, due, aside, leases, holders, owned, out, hosts, turns, full
--   (1-15, see lib.lua)

local now = present()
local deadline = now + tonumber(ARGV[2])
redis.call('HSETNX', KEYS[1], 'identity', ARGV[4])
local lost_states = {r = true, w = true, a = true}
local kept = 0

local function take(fingerprint, token)
  local record = load(fingerprint)
  local holder = redis.call('HGET', KEYS[10], fingerprint)
  if holder and holder:sub(1, 16) == token then
    move(fingerprint, record, 'l', deadline, holder)
    kept = kept + 1
  elseif record and record.lost > 0 then
    local free = lost_states[record.state]
    if free then
      leave[record.state](fingerprint, record)
    end
    record.lost = record.lost - 1
    record.attempts = math.max(record.attempts - 1, 0)
    if free then
      record.note = ''
      become(fingerprint, record, 'l', deadline, token .. ARGV[3])
      kept = kept + 1
    else
      redis.call('HSET', KEYS[2], fingerprint, pack(record))
    end
  end
end

for place = 5, #ARGV, 2 do
  take(ARGV[place], ARGV[place + 1])
end
put_hosts()
return {kept, redis.call('HGET', KEYS[1], 'identity')}
