-- insert(scheme, level, split, block, most, shared, id, record, oldest, places)
--   -> done, next, tail, level, split, count, then the records of the candidates, oldest first
--   Finds the texts that share `shared` passages with this one, among the newest `most` of each, takes out what
--   was kept under the same id, and keeps the record (if it is not empty). id: as it ends a record. oldest:
--   texts that came before this second are no candidates. places: four bytes each, field and hash; the
--   last one is that of the id.
-- Keys: meta, the blocks `block` and `block` + 1, then the bucket of each place

local state = state_of(KEYS[1])
if state.scheme ~= ARGV[1] then
  return redis.error_reply('SCHEME ' .. (state.scheme or ''))
end
local most, shared, id, record, oldest = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8], tonumber(ARGV[9])
local places = ARGV[10]
local own_block = block_and_offset(state.next) - tonumber(ARGV[4])
local last = #KEYS - 3

local function believed_wrong(level, split)
  if own_block < 0 or own_block > 1 then
    return true
  end
  if level ~= state.level or split ~= state.split then
    for place = 1, last do
      local rest = number24(places, place * 4 - 2)
      if bucket_of(rest, level, split) ~= bucket_of(rest, state.level, state.split) then
        return true
      end
    end
  end
  return false
end
if believed_wrong(tonumber(ARGV[2]), tonumber(ARGV[3])) then
  return reply(0, state)
end

-- --- reading

local function at_block(number)
  local block, offset = block_and_offset(number)
  return KEYS[1]:sub(1, -5) .. 'texts:' .. string.format('%x', block), offset
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
local function with_hash(postings, hash, from)
  local found = {}
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

-- What is read of a field: its key and number (first), all postings as they were, those that stay, the
-- last part with its field, what is to be added, and another field of the same key (other). Two places of
-- one text may meet in one field.
local cells, cell_of = {}, {}

local function read(place)
  local key, first = KEYS[place + 3], byte(places, place * 4 - 3)
  local cell = cells[key]
  while cell and cell.first ~= first do
    cell = cell.other
  end
  if not cell then
    local field, part = first, call('HGET', key, first) or ''
    local all = part
    while #part == FULL do
      field = field + FIELDS
      part = call('HGET', key, field) or ''
      all = all .. part
    end
    cell = {
      key = key, first = first, other = cells[key], before = all,
      now = state.tail > 0 and without_old(all, state) or all, part = part, field = field, added = '',
    }
    cells[key] = cell
  end
  cell_of[place] = cell
  return cell
end

-- Read the postings of a place, and give the texts with its hash to `take`, newest first; what it does not
-- want is taken out.
local function look(place, take)
  local cell, hash = read(place), sub(places, place * 4 - 2, place * 4)
  local first = find(cell.now, hash, 1, true)
  if first then
    local found, gone = with_hash(cell.now, hash, first), {}
    for nth = #found, 1, -1 do
      if not take(text_of(cell.now, found[nth], state.next), #found - nth) then
        gone[#gone + 1] = found[nth]
      end
    end
    cell.now = without(cell.now, gone)
  end
end

local replaced
look(last, function(number)
  local text = record_of(number)
  if text ~= '' and id_of(text) == id then
    replaced, records[number] = number, ''
    return false
  end
  return text ~= ''
end)

-- Whoever shares passages; records are read of candidates only.
local shares = {}

local function count(number, nth)
  if nth >= most then
    return false
  end
  shares[number] = (shares[number] or 0) + 1
  return true
end
for place = 1, last - 1 do
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
for place = 1, gone and last - 1 or 0 do
  look(place, function(number)
    return records[number] ~= ''
  end)
end

-- --- writing

if replaced then
  local its_block, offset = at_block(replaced)
  call('LSET', its_block, offset, '')
  state.count = state.count - 1
end
if record ~= '' then
  call('RPUSH', KEYS[2 + own_block], record)
  local ending = posting_end(state.next)
  for place = 1, last do
    local cell = cell_of[place]
    cell.added = cell.added .. sub(places, place * 4 - 2, place * 4) .. ending
  end
  state.next, state.count = state.next + 1, state.count + 1
end
for place = 1, last do
  local cell = cell_of[place]
  if #cell.now ~= #cell.before then
    rewrite(cell.key, cell.first, cell.before, cell.now .. cell.added)
  elseif cell.added ~= '' then
    rewrite(cell.key, cell.field, '', cell.part .. cell.added)
  end
  cell.before, cell.added = cell.now, '' -- a second place that meets this one has nothing left to write
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
