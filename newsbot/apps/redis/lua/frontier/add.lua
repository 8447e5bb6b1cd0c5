-- add(now, level, force, respell, fingerprint, host, priority, due, body, ...) -> one letter for each entry
--   force: '1' to queue done and aside entries again; respell: '1' to replace pending entries that were never
--   fetched. Five values follow for each entry.
--   Letters: N new, K known (its order is unchanged), S sooner than before.
-- Keys: meta, entries, queue, dated, waiting, held, due, aside, hosts, turns, full (1-8, 13-15, see lib.lua);
--   KEYS[16 + 2n], KEYS[17 + 2n]  HASH  the buckets of the n-th entry, from 0, at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
local force, respell = ARGV[3] == '1', ARGV[4] == '1'

local function fresh(host, priority, due, body, fetched)
  host_of(host)
  return {state = '', attempts = 0, lost = 0, at = 0, priority = priority, due = due, fetched = fetched,
    number = next_number(), host = host, note = '', body = body}
end

-- Takes the data of a link that has a publication time, but keeps discovered_at; see Frontier.add.
-- Works on the text of the JSON: decoding and encoding it could change other values.
local function tell(fingerprint, record, body)
  local DATA, TOLD, FOUND = ',"data":', '"published_at":', '"discovered_at":[%d.]+'
  if record.body:find(TOLD, 1, true) or not body:find(TOLD, 1, true) then
    return
  end
  local found = record.body:match(FOUND)
  -- The JSON is {"url":…,"kind":…,"depth":…,"data":…}. Quotes inside of values are escaped, so the first
  -- match is the key itself.
  local data = body:sub((body:find(DATA, 1, true)))
  record.body = record.body:sub(1, record.body:find(DATA, 1, true) - 1) .. (found and data:gsub(FOUND, found, 1) or data)
  redis.call('HSET', KEYS[2], fingerprint, pack(record))
end

local function hurry(fingerprint, record, priority, due, body)
  tell(fingerprint, record, body)
  if priority <= record.priority and due >= record.due then
    return 'K'
  end
  -- The entry leaves its sorted set with the old numbers, because its member there contains them.
  leave[record.state](fingerprint, record)
  record.priority, record.due = math.max(priority, record.priority), math.min(due, record.due)
  become(fingerprint, record, record.state, record.state == 'w' and record.due or record.at)
  return 'S'
end

local function take(place, fingerprint, host, priority, due, body)
  local record = load(fingerprint)
  local fetched = NEVER
  local verdict = 'N'
  if record then
    if record.state == 'r' or record.state == 'w' or record.state == 'h' then
      if respell and record.fetched == NEVER then
        leave[record.state](fingerprint, record)
        local new = fresh(host, math.max(priority, record.priority), math.min(due, record.due), body, NEVER)
        -- Another spelling of the URL may kill the worker as well, so a suspect stays a suspect.
        new.lost = record.lost
        wait(fingerprint, new)
        return 'S'
      end
      return hurry(fingerprint, record, priority, due, body)
    end
    if record.state == 'l' or not force then
      return 'K'
    end
    fetched, verdict = record.fetched, 'S'
    leave[record.state](fingerprint, record)
  else
    local known = last_fetch(fingerprint, place)
    if known then
      if not force then
        return 'K'
      end
      fetched, verdict = known, 'S'
      forget_known(fingerprint, place)
    end
  end
  wait(fingerprint, fresh(host, priority, due, body, fetched))
  return verdict
end

local verdicts = {}
for first = 5, #ARGV, 5 do
  local place = (first - 5) / 5
  verdicts[place + 1] = take(place, ARGV[first], ARGV[first + 1], tonumber(ARGV[first + 2]),
    tonumber(ARGV[first + 3]), ARGV[first + 4])
end
put_hosts()
return table.concat(verdicts)
