-- tend(before, most, load, splits, chance, clear) -> the number of buckets if all texts are deleted, else 0
--   Deletes up to `most` of the oldest texts, if they were fetched before the second `before`. Removes postings of
--   deleted texts from `clear` buckets, beginning with a bucket that `chance` (0 to 1) selects. Splits up to
--   `splits` buckets in two while there are more than `load` texts per bucket.
-- Keys: meta

local state = state_of(KEYS[1])
local before, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local load, splits, chance, clear = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local function forget()
  local first, number = state.tail, state.tail
  local stop = math.min(state.tail + most, state.next)
  local gone = {}
  while number < stop do
    local text = call('LINDEX', at_block(number)) or ''
    if text ~= '' and struct.unpack('>I4', text) >= before then
      break
    end
    gone[#gone + 1] = text ~= '' and number or nil
    number = number + 1
  end
  if number == first then
    return
  end
  -- whole blocks are deleted, and single texts of the last block are emptied
  for block = floor(first / BLOCK), floor(number / BLOCK) - 1 do
    call('UNLINK', (at_block(block * BLOCK)))
  end
  for _, one in ipairs(gone) do
    if floor(one / BLOCK) == floor(number / BLOCK) then
      local block, offset = at_block(one)
      call('LSET', block, offset, '')
    end
  end
  state.tail, state.count = number, state.count - #gone
  call('HSET', KEYS[1], 'tail', state.tail, 'count', state.count)
end

-- Write buckets. `false` stands for a bucket that does not change.
local function write(keys, buckets)
  local changed = {}
  for nth, key in ipairs(keys) do
    if buckets[nth] == '' then
      call('UNLINK', key)
    elseif buckets[nth] then
      changed[#changed + 1], changed[#changed + 2] = key, buckets[nth]
    end
  end
  if #changed > 0 then
    call('MSET', unpack(changed))
  end
end

local function clear_some()
  local buckets = 2 ^ state.level + state.split
  local first, keys = floor(chance * buckets), {}
  for bucket = first, math.min(first + clear, buckets) - 1 do
    keys[#keys + 1] = name_of(bucket)
  end
  local found = call('MGET', unpack(keys))
  for nth, postings in ipairs(found) do
    -- MGET returns false for a missing bucket; `stay ~= postings and stay` is false for an unchanged one.
    local stay = postings and without_old(postings, state)
    found[nth] = stay ~= postings and stay
  end
  write(keys, found)
end

-- Return two strings: the postings whose tags do not have a bit set (counted from 0), and the postings whose
-- tags have it set. The order is kept. The input is cut where the bit changes.
local function sort_out(postings, bit)
  -- Bits 0 to 7 are in the second byte of a tag, bits 8 to 15 in the first. Lua 5.1 has no bit operations, so
  -- the bit is read by arithmetic.
  local border, offset = 2 ^ (bit % 8), bit < 8 and 1 or 0
  local sorted, from, last = {[false] = {}, [true] = {}}, 1, false
  for place = 1, #postings, POSTING do
    local set = byte(postings, place + offset) % (2 * border) >= border
    if set ~= last then
      local list = sorted[last]
      list[#list + 1] = sub(postings, from, place - 1)
      from, last = place, set
    end
  end
  local list = sorted[last]
  list[#list + 1] = sub(postings, from)
  return table.concat(sorted[false]), table.concat(sorted[true])
end

local function split_some(many)
  local buckets, keys = 2 ^ state.level, {}
  for bucket = state.split, state.split + many - 1 do
    keys[#keys + 1] = name_of(bucket)
    keys[#keys + 1] = name_of(bucket + buckets)
  end
  local found = call('MGET', unpack(keys))
  for nth = 1, #keys, 2 do
    if found[nth] then
      found[nth], found[nth + 1] = sort_out(without_old(found[nth], state), state.level - FIRST_LEVEL)
    end
  end
  write(keys, found)
  state.split = state.split + many
  if state.split == buckets then
    state.level, state.split = state.level + 1, 0
  end
  call('HSET', KEYS[1], 'level', state.level, 'split', state.split)
end

call('MGET', KEYS[1], NOWHERE)
forget()
if state.tail > 0 then -- a text has been deleted at some time
  clear_some()
end
local missing = math.ceil(state.count / load) - 2 ^ state.level - state.split
if missing > 0 and state.level < MAX_LEVEL then
  -- The last term keeps a call within one level, because split_some uses one number of buckets.
  split_some(math.min(missing, splits, 2 ^ state.level - state.split))
end
return state.tail == state.next and 2 ^ state.level + state.split or 0
