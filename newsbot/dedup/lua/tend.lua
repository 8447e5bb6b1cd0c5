-- tend(level, split, block, before, most, kept) -> done, next, tail, level, split, count
--   Takes out up to `most` of the oldest texts, as far as they came before the second `before` or are more
--   than `kept`; clears one bucket of the postings of texts that are gone; splits the next buckets in two.
-- Keys: meta, the blocks `block` to `block` + 2, the bucket to clear, then for each split the bucket and
-- the new one

local state = state_of(KEYS[1])
local level, split, first = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local before, most, kept = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if level ~= state.level or split ~= state.split or first ~= block_and_offset(state.tail) then
  return reply(0, state)
end

local function is_over(text, number)
  return text == '' or struct.unpack('>I4', text) < before or state.next - number > kept
end

local function clear()
  local number, stop = state.tail, math.min(state.tail + most, state.next, (first + 3) * BLOCK)
  local gone = {}
  while number < stop do
    local block, offset = block_and_offset(number)
    local text = call('LINDEX', KEYS[2 + block - first], offset) or ''
    if not is_over(text, number) then
      break
    end
    gone[#gone + 1] = text ~= '' and number or nil
    number = number + 1
  end
  local block = block_and_offset(number)
  for place = first, block - 1 do
    call('UNLINK', KEYS[2 + place - first])
  end
  for _, one in ipairs(gone) do
    local own, offset = block_and_offset(one)
    if own == block then
      call('LSET', KEYS[2 + block - first], offset, '')
    end
  end
  if number > state.tail then
    state.tail, state.count = number, state.count - #gone
    call('HSET', KEYS[1], 'tail', state.tail, 'count', state.count)
  end
end

-- The fields of a bucket: the parts of each, in order.
local function read(key)
  local all, parts = call('HGETALL', key), {}
  for place = 1, #all, 2 do
    local whole = tonumber(all[place])
    local field = whole % FIELDS
    parts[field] = parts[field] or {}
    parts[field][floor(whole / FIELDS) + 1] = all[place + 1]
  end
  return parts
end

local function write(key, fields)
  local values = {}
  for field, postings in pairs(fields) do
    for start = 0, #postings - 1, FULL do
      values[#values + 1] = field + FIELDS * start / FULL
      values[#values + 1] = sub(postings, start + 1, start + FULL)
    end
  end
  call('UNLINK', key)
  for from = 1, #values, 1000 do
    call('HSET', key, unpack(values, from, math.min(from + 999, #values)))
  end
end

-- The postings whose texts are there, those with a bit of the hash (counted from 0) apart.
local function sort_out(postings, bit)
  local without, with = {}, {}
  for place = 1, #postings, 6 do
    if text_of(postings, place, state.next) >= state.tail then
      local set = bit and floor(number24(postings, place) / 2 ^ bit) % 2 == 1
      local list = set and with or without
      list[#list + 1] = sub(postings, place, place + 5)
    end
  end
  return table.concat(without), table.concat(with)
end

-- Write a bucket anew without what is gone; with `other`, part of it goes there.
local function renew(key, other)
  local stay, go, changed = {}, {}, other ~= nil
  for field, parts in pairs(read(key)) do
    local all = table.concat(parts)
    stay[field], go[field] = sort_out(all, other and state.level)
    changed = changed or #stay[field] ~= #all
  end
  if changed then
    write(key, stay)
  end
  if other then
    write(other, go)
  end
end

clear()
if state.tail > 0 then
  renew(KEYS[5])
end
for place = 6, #KEYS, 2 do
  renew(KEYS[place], KEYS[place + 1])
  state.split = state.split + 1
  if state.split == 2 ^ state.level then
    state.level, state.split = state.level + 1, 0
    break
  end
end
if #KEYS > 5 then
  call('HSET', KEYS[1], 'level', state.level, 'split', state.split)
end
return reply(1, state)
