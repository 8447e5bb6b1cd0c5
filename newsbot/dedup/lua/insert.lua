-- insert(scheme, most, shared, id, record, oldest, places)
--   -> done, next, tail, level, split, count, then the records of the candidates, oldest first
--   Finds the texts that share `shared` passages with this one, among the newest `most` of each, takes out what
--   was kept under the same id, and keeps the record (if it is not empty). id: as it ends a record. oldest:
--   texts that came before this second are no candidates. places: four bytes each, field and hash; the
--   last one is that of the id.
-- Keys: meta; the others, whose names come from it, are made here

local state = state_of(KEYS[1])
if state.scheme ~= ARGV[1] then
  return redis.error_reply('SCHEME ' .. (state.scheme or ''))
end
local most, shared, id, record, oldest = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5], tonumber(ARGV[6])
local places = ARGV[7]
local last = #places / 4
local tag = sub(KEYS[1], 1, -5)

-- --- reading

local function at_block(number)
  local block, offset = block_and_offset(number)
  return tag .. 'texts:' .. format('%x', block), offset
end

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
  local from = 73
  if byte(text, 71) == 255 then
    from = from + 2 + byte(text, 73) * 256 + byte(text, 74)
  end
  return sub(text, from)
end

-- Where the postings with a hash begin, oldest first.
local function with_hash(postings, hash)
  local found = {}
  local from = find(postings, hash, 1, true)
  while from do
    if from % 6 == 1 then
      found[#found + 1] = from
    end
    from = find(postings, hash, from + 1, true)
  end
  return found
end

-- Postings without those at some places, which are given last to first.
local function without(postings, gone)
  for _, at in ipairs(gone) do
    postings = sub(postings, 1, at - 1) .. sub(postings, at + 6)
  end
  return postings
end

-- Of each place: its hash, its bucket's key, and the place that stands for its field (own; two places of one
-- text may meet in one). Of each field: all postings as they were (before), those that stay (now), its last
-- part (part) and where that stands (field). Lists beside each other, and few strings: they are what a call
-- costs.
local hashes, keys, own, before, now, part, field = {}, {}, {}, {}, {}, {}, {}
local met, hits = {}, {}
local buckets, split, has_old = 2 ^ state.level, state.split, state.tail > 0
local prefix = tag .. 'bands:'

-- Redis turns a number into text by way of floating point, which takes longer than the command that gets it.
local NAMES = '0123456789' ..
  '101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263'

local function name_of(first)
  if first < 10 then
    return sub(NAMES, first + 1, first + 1)
  end
  return sub(NAMES, first * 2 - 9, first * 2 - 8)
end

local function standing_for(place)
  local first = byte(places, place * 4 - 3)
  for earlier = 1, place - 1 do
    if keys[earlier] == keys[place] and byte(places, earlier * 4 - 3) == first then
      return earlier
    end
  end
  return place
end

for place = 1, last do
  local from = place * 4
  local at, high, middle, low = byte(places, from - 3, from)
  local rest = high * 65536 + middle * 256 + low
  local bucket = rest % buckets
  if bucket < split then
    bucket = rest % (buckets * 2)
  end
  local key, hash, stands = prefix .. format('%x', bucket), sub(places, from - 2, from), place
  hashes[place], keys[place] = hash, key
  if met[bucket] then
    stands = standing_for(place)
  end
  met[bucket], own[place] = true, stands
  if stands == place then
    local name = name_of(at)
    local got = call('HGET', key, name) or ''
    local all = got
    while #got == FULL do
      at = at + FIELDS
      name = at
      got = call('HGET', key, name) or ''
      all = all .. got
    end
    before[place], part[place], field[place] = all, got, name
    now[place] = has_old and without_old(all, state) or all
  end
  if find(now[stands], hash, 1, true) then
    hits[#hits + 1] = place
  end
end

-- Give the texts with the hash of a place to `take`, newest first; what it does not want is taken out.
local function look(place, take)
  local postings = now[own[place]]
  local found, gone = with_hash(postings, hashes[place]), {}
  for nth = #found, 1, -1 do
    if not take(text_of(postings, found[nth], state.next), #found - nth) then
      gone[#gone + 1] = found[nth]
    end
  end
  now[own[place]] = without(postings, gone)
end

local replaced
if hits[#hits] == last then
  hits[#hits] = nil
  look(last, function(number)
    local text = record_of(number)
    if text ~= '' and id_of(text) == id then
      replaced, records[number] = number, ''
      return false
    end
    return text ~= ''
  end)
end

-- Whoever shares passages; records are read of candidates only.
local shares = {}

local function count(number, nth)
  if nth >= most then
    return false
  end
  shares[number] = (shares[number] or 0) + 1
  return true
end
for _, place in ipairs(hits) do
  look(place, count)
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
if gone then
  for _, place in ipairs(hits) do
    look(place, function(number)
      return records[number] ~= ''
    end)
  end
end

-- --- writing

local ending = ''
if record ~= '' then
  call('RPUSH', (at_block(state.next)), record) -- first: of all keys that are written only this one was not read
  ending = posting_end(state.next)
  state.next, state.count = state.next + 1, state.count + 1
end
if replaced then
  local its_block, offset = at_block(replaced)
  call('LSET', its_block, offset, '')
  state.count = state.count - 1
end
local further = {} -- of the places for whose fields an earlier one stands
for place = 1, ending ~= '' and last or 0 do
  local stands = own[place]
  if stands ~= place then
    further[stands] = (further[stands] or '') .. hashes[place] .. ending
  end
end
for place = 1, last do
  if own[place] == place then
    local hash, more = hashes[place], further[place] or ''
    if #now[place] ~= #before[place] then
      local added = ending ~= '' and hash .. ending .. more or ''
      rewrite(keys[place], byte(places, place * 4 - 3), before[place], now[place] .. added)
    elseif ending ~= '' and #part[place] + #more < FULL then
      call('HSET', keys[place], field[place], part[place] .. hash .. ending .. more)
    elseif ending ~= '' then
      rewrite(keys[place], field[place], '', part[place] .. hash .. ending .. more)
    end
  end
end
if replaced or record ~= '' then
  call('HSET', KEYS[1], 'next', state.next, 'count', state.count)
end

table.sort(candidates)
local answer = reply(1, state)
for _, one in ipairs(candidates) do
  answer[#answer + 1] = records[one]
end
return answer
