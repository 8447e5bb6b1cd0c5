-- take(now, level, fingerprint, host, priority, due, body, state, at, fetched, attempts, lost, note, within, ...)
--   -> the number of known URLs
--   Twelve values for each entry. state: w pending, h held back, d done, a aside. at and fetched: empty for
--   none. URLs that are already known stay unchanged. A done entry that is not due in the next `within` seconds
--   is kept as a known URL.
-- Keys: meta, entries, queue, waiting, held, due, aside, hosts, turns, full (1-8, 13-15, see lib.lua);
--   KEYS[16 + 2n], KEYS[17 + 2n]  HASH  the buckets of the n-th entry, from 0, at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
local now = present()
local WIDTH = 12

local function record_at(first)
  return {state = '', host = ARGV[first + 1], priority = tonumber(ARGV[first + 2]), due = tonumber(ARGV[first + 3]),
    body = ARGV[first + 4], at = 0, fetched = tonumber(ARGV[first + 7]) or NEVER,
    attempts = tonumber(ARGV[first + 8]), lost = tonumber(ARGV[first + 9]), note = ARGV[first + 10]}
end

local function take(first, place)
  local fingerprint = ARGV[first]
  if redis.call('HEXISTS', KEYS[2], fingerprint) == 1 or last_fetch(fingerprint, place) then
    return
  end
  local record, state, at = record_at(first), ARGV[first + 5], tonumber(ARGV[first + 6])
  local within = tonumber(ARGV[first + 11])
  host_of(record.host)
  if state == 'd' and (not at or at > now + within) then
    keep_known(fingerprint, place, record.fetched)
    return
  end
  record.number = next_number()
  if state == 'w' then
    wait(fingerprint, record)
  else
    become(fingerprint, record, state, at or now)
  end
end

for first = 3, #ARGV, WIDTH do
  take(first, (first - 3) / WIDTH)
end
put_hosts()
return tonumber(redis.call('HGET', KEYS[1], 'known') or 0)
