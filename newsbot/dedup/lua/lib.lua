-- What every script of the near-duplicate index begins with (newsbot/redisserver.py puts it there).
--
-- Keys. All carry one hash tag, {NAMESPACE:near}:
--   meta       HASH  scheme (what signatures, buckets and records are made by), next (number of the next
--                    text), tail (all texts below it are gone), count (texts kept), level, split
--   texts:B    LIST  the records of the texts 128 * B to 128 * B + 127, by number; an empty one is gone.
--                    Record: newsbot/dedup/record.py
--   bands:I    HASH  bucket I of the postings. A posting is six bytes: 24 bits of a hash (of a passage, or
--                    of the id of the text), then the low 24 bits of the number of the text.
--                    Field f (0-63) holds the postings with those six bits of the hash, oldest first, up to
--                    ten; what is more stands in f + 64, f + 128 and so on, each full but the last.
--                    No value has more than 60 bytes, so that the hash stays a listpack.
--
-- Postings of a text that is gone are left, and taken out when their field is written, or by tend.
-- A bucket I is split by linear hashing (keys.py).
--
-- insert makes the names of most of its keys from that of meta: to send them with each call would take a
-- fifth of its time. All are on the same node, by their tag, and each is read before anything is written (the
-- block that a record goes to is written first): if the node refuses one, because the slot is being moved,
-- nothing has been changed.

local BLOCK, FIELDS, FULL, WINDOW = 128, 64, 60, 16777216
local FIRST_LEVEL = 2
local call, byte, sub, find, format, floor =
  redis.call, string.byte, string.sub, string.find, string.format, math.floor

local function state_of(meta)
  local got = call('HMGET', meta, 'next', 'tail', 'level', 'split', 'count', 'scheme')
  return {
    next = tonumber(got[1] or 0), tail = tonumber(got[2] or 0),
    level = tonumber(got[3] or FIRST_LEVEL), split = tonumber(got[4] or 0),
    count = tonumber(got[5] or 0), scheme = got[6],
  }
end

-- What every script answers first: 1 if it was done, 0 if the caller believed something that is no longer so.
local function reply(done, state)
  return {done, state.next, state.tail, state.level, state.split, state.count}
end

local function block_and_offset(number)
  return floor(number / BLOCK), number % BLOCK
end

local function number24(text, place)
  local a, b, c = byte(text, place, place + 2)
  return a * 65536 + b * 256 + c
end

-- The number of the text of the posting at a place. One that is older than the window is gone anyway.
local function text_of(postings, place, next)
  local age = (next - number24(postings, place + 3)) % WINDOW
  return next - (age == 0 and WINDOW or age)
end

-- What a posting of the text with this number ends with.
local function posting_end(number)
  return string.char(floor(number / 65536) % 256, floor(number / 256) % 256, number % 256)
end

-- Postings without those at the front whose texts are gone: the oldest stand first.
local function without_old(postings, state)
  local from = 1
  while from < #postings and text_of(postings, from, state.next) < state.tail do
    from = from + 6
  end
  return from == 1 and postings or sub(postings, from)
end

-- Write postings from a field on, and take out the further fields that the old ones had and they do not.
local function rewrite(key, field, old, new)
  for start = 0, #new - 1, FULL do
    call('HSET', key, field + FIELDS * start / FULL, sub(new, start + 1, start + FULL))
  end
  for start = math.ceil(#new / FULL) * FULL, #old - 1, FULL do
    call('HDEL', key, field + FIELDS * start / FULL)
  end
end
