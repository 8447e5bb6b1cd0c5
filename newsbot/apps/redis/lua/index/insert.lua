-- insert(scheme, most, shared, id, record, oldest, places, size, newer) -> newer, then the records of the candidates,
--   oldest first
--   Finds the texts that share `shared` passages with this one, among the newest `most` texts of each passage.
--   Deletes the text with the same id, and stores the record unless it is empty.
--   id: encoded as at the end of a record. oldest: texts fetched before this second are not candidates.
--   places: four bytes each (see lib.lua); the last place is the place of the id.
--   size: the part is closed when it has this number of texts. Then the error CLOSED is returned for a record.
--   newer: for each place one byte, the number of texts in newer parts that have it; empty for none. The texts of
--   this part are added in the answer.
-- Keys: meta

local state = state_of(KEYS[1])
if state.scheme ~= ARGV[1] then
  return redis.error_reply('SCHEME ' .. (state.scheme or ''))
end
if ARGV[5] ~= '' and (state.closed or state.next - state.tail >= tonumber(ARGV[8])) then
  call('MGET', KEYS[1], NOWHERE) -- see lib.lua
  call('HSET', KEYS[1], 'closed', 1)
  return redis.error_reply('CLOSED')
end
local most, shared, id, record, oldest = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5], tonumber(ARGV[6])
local places = ARGV[7]
local last = #places / 4

-- --- reading

local records = {}

local function record_of(number)
  local known = records[number]
  if known == nil then
    known = number >= state.tail and call('LINDEX', at_block(number)) or ''
    records[number] = known
  end
  return known
end

local function id_of(text)
  -- The head of a record has 72 bytes (_HEAD in index.py). Byte 71 is the position of the source; 255 means
  -- that the length of the source (two bytes) and the source come before the id.
  local from = 73
  if byte(text, 71) == 255 then
    from = from + 2 + byte(text, 73) * 256 + byte(text, 74)
  end
  return sub(text, from)
end

-- For each place: its tag (the bits that a posting stores), and the index of its bucket. Two places of one text
-- may have the same bucket. For each bucket: its key, and its postings before and now.
local tags, own, keys, met = {}, {}, {}, {}
local buckets, split = 2 ^ state.level, state.split

for place = 1, last do
  local from = place * 4 - 3
  local a, b, c, d = byte(places, from, from + 3)
  -- 16 bits of the tag, then the last 14 of the other 16 bits (c % 64 drops two of them).
  local hash = (a * 256 + b) * LOWER + c % 64 * 256 + d
  local bucket = hash % buckets
  if bucket < split then  -- this bucket has already been split in two
    bucket = hash % (buckets * 2)
  end
  local nth = met[bucket]
  if nth == nil then
    nth = #keys + 1
    keys[nth], met[bucket] = name_of(bucket), nth
  end
  tags[place], own[place] = sub(places, from, from + 1), nth
end

keys[#keys + 1] = NOWHERE
-- This is the first access to the buckets. The keys include NOWHERE (see lib.lua).
local before, now = call('MGET', unpack(keys)), {}
keys[#keys] = nil
for nth = 1, #keys do
  local postings = before[nth] or ''
  now[nth] = state.tail > 0 and without_old(postings, state) or postings
end

-- Return the offsets of the postings with a tag, oldest first.
local function with_tag(postings, tag)
  local found = {}
  local from = find(postings, tag, 1, true)
  while from do
    if from % POSTING == 1 then  -- otherwise the bytes belong to other postings
      found[#found + 1] = from
    end
    from = find(postings, tag, from + 1, true)
  end
  return found
end

-- Call `take` for the texts with the tag of a place, newest first. Postings for which it returns false are
-- removed.
local function look(place, take)
  local postings = now[own[place]]
  local found, kept = with_tag(postings, tags[place]), postings
  for nth = #found, 1, -1 do
    local from = found[nth]
    if not take(text_of(postings, from, state.next), #found - nth) then
      kept = sub(kept, 1, from - 1) .. sub(kept, from + POSTING)
    end
  end
  now[own[place]] = kept
end

local hits = {} -- places that other texts may have; most texts have no such place
for place = 1, last do
  if find(now[own[place]], tags[place], 1, true) then
    hits[#hits + 1] = place
  end
end

local replaced
if hits[#hits] == last then
  hits[#hits] = nil
  look(last, function(number)
    local text = record_of(number)
    -- Two ids may have the same hash, so the id itself is compared.
    if text ~= '' and id_of(text) == id then
      replaced, records[number] = number, ''
      return false
    end
    return text ~= ''
  end)
end

-- Count the shared passages of each text. Only the records of candidates are read.
local shares = {}

local newer = ARGV[9]
if #hits > 0 then
  local met_in = {byte(newer == '' and string.rep('\0', last) or newer, 1, last)}
  for _, place in ipairs(hits) do
    local before_these = met_in[place]
    look(place, function(number, nth)
      met_in[place] = math.min(met_in[place] + 1, 255)
      if before_these + nth >= most then
        return false
      end
      shares[number] = (shares[number] or 0) + 1
      return true
    end)
  end
  newer = string.char(unpack(met_in))
end

local candidates, gone = {}, false
for number, times in pairs(shares) do
  if times >= shared then
    local text = record_of(number)
    if text == '' then
      gone = true
    elseif struct.unpack('>I4', text) >= oldest then
      candidates[#candidates + 1] = number
    end
  end
end
if gone then  -- some candidates were deleted: remove their postings
  for _, place in ipairs(hits) do
    look(place, function(number)
      return records[number] ~= ''
    end)
  end
end

-- --- writing

if record ~= '' then
  call('RPUSH', (at_block(state.next)), record)
  local ending = posting_end(state.next)
  for place = 1, last do
    local nth = own[place]
    now[nth] = now[nth] .. tags[place] .. ending
  end
  state.next, state.count = state.next + 1, state.count + 1
end
if replaced then
  local its_block, offset = at_block(replaced)
  call('LSET', its_block, offset, '')
  state.count = state.count - 1
end
local changed = {}
for nth, key in ipairs(keys) do
  if now[nth] == '' and before[nth] then
    call('UNLINK', key)
  elseif now[nth] ~= '' and now[nth] ~= before[nth] then
    changed[#changed + 1], changed[#changed + 2] = key, now[nth]
  end
end
if #changed > 0 then
  call('MSET', unpack(changed))
end
if replaced or record ~= '' then
  call('HSET', KEYS[1], 'next', state.next, 'count', state.count)
end

table.sort(candidates)
for nth, one in ipairs(candidates) do
  candidates[nth] = records[one]
end
table.insert(candidates, 1, newer)
return candidates
