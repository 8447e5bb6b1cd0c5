-- known(now, level, fingerprint, ...) -> state, last fetch, next due for each
--   state: a letter of lib.lua, empty if unknown. Times are POSIX seconds, empty for none.
-- Keys: meta, entries (1, 2, see lib.lua);
--   KEYS[16 + 2n], KEYS[17 + 2n]  HASH  the buckets of the n-th fingerprint, from 0, at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end

local function look(place, fingerprint)
  local record = load(fingerprint)
  if not record then
    local fetched = last_fetch(fingerprint, place)
    if not fetched then
      return '', '', ''
    end
    return 'd', fetched == NEVER and '' or number(fetched), ''
  end
  local next_due = ''
  if record.state == 'd' then
    next_due = record.at < math.huge and number(record.at) or ''
  elseif record.state ~= 'l' and record.state ~= 'a' then
    next_due = number(record.due)
  end
  return record.state, record.fetched == NEVER and '' or number(record.fetched), next_due
end

local reply = {}
for place = 3, #ARGV do
  local state, fetched, next_due = look(place - 3, ARGV[place])
  local last = #reply
  reply[last + 1], reply[last + 2], reply[last + 3] = state, fetched, next_due
end
return reply
