-- mark_done(now, level, next_due, fingerprint, host, priority, due, body, ...) -> the number of known URLs
--   next_due: empty for never. Five values follow for each entry. Leased entries and entries that were
--   fetched keep their state.
-- Keys: meta, entries, queue, dated, waiting, held, due, aside, hosts, turns, full (1-8, 13-15, see lib.lua);
--   KEYS[16 + 2n], KEYS[17 + 2n]  HASH  the buckets of the n-th entry, from 0, at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
local next_due = tonumber(ARGV[3])

local function rest(place, fingerprint, record, existed)
  -- See "Known URLs" in lib.lua: an entry that existed keeps its record, because it may be marked again with
  -- a due time.
  if next_due or existed then
    record.attempts, record.lost, record.note = 0, 0, ''
    become(fingerprint, record, 'd', next_due or math.huge)
  else
    keep_known(fingerprint, place, NEVER)
  end
end

local function take(place, fingerprint, host, priority, due, body)
  host_of(host)
  local record = load(fingerprint)
  local existed = record ~= nil
  if existed then
    if record.state == 'l' or record.fetched ~= NEVER then
      return
    end
    leave[record.state](fingerprint, record)
  else
    local known = last_fetch(fingerprint, place)
    -- The URL was fetched, so it keeps its state, or it is already known and never due.
    if known and (known ~= NEVER or not next_due) then
      return
    end
    if known then
      forget_known(fingerprint, place)
    end
    record = {state = '', attempts = 0, lost = 0, at = 0, priority = priority, due = due, fetched = NEVER,
      number = next_number(), host = host, note = '', body = body}
  end
  rest(place, fingerprint, record, existed)
end

for first = 4, #ARGV, 5 do
  take((first - 4) / 5, ARGV[first], ARGV[first + 1], tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3]),
    ARGV[first + 4])
end
put_hosts()
return tonumber(redis.call('HGET', KEYS[1], 'known') or 0)
