-- The common beginning of all scripts of the near-duplicate index (newsbot/apps/redis/connection.py adds it).
--
-- Keys of one part of the index. All have the hash tag {NAMESPACE:near}, or {NAMESPACE:near:PART} from part 1 on:
--   meta        HASH    scheme (the parameters of signatures, buckets and records), next (number of the next
--                       text), tail (all texts below it are deleted), count (stored texts), level, split, closed (1
--                       if the part takes no more texts); in part 0 also first and last (the numbers of the parts)
--   texts:B     LIST    the records of the texts 128 * B to 128 * B + 127, by number. An empty record is a
--                       deleted text. Format: newsbot/dedup/index.py
--   postings:I  STRING  bucket I: postings of five bytes, oldest first. A posting is 16 bits of a hash (of a
--                       passage, or of the id of the text), then the low 24 bits of the number of the text.
--
-- The place of a posting has four bytes: these 16 bits, then 16 more. Its bucket is found by linear hashing
-- (W. Litwin, 1980). The last 14 bits of the place select one of 2^14 buckets (FIRST_LEVEL). When a bucket is
-- split, a bit in each posting selects one of the two halves. There are at most 2^22 buckets. This number is
-- reached at 12 million texts. From there to the end of the part at 16 million texts, buckets are no longer
-- split and only get fuller.
--
-- Buckets are strings, because one command reads or writes many of them. The time of a script depends mostly on
-- its number of commands.
--
-- Postings of deleted texts are not removed immediately. The oldest postings, at the front of a bucket, are
-- removed when the bucket is written, or by tend. Other postings are removed when a script finds them.
--
-- The scripts make the names of their keys from the name of meta. Sending all names with each call would take
-- a fifth of the call's time. All keys are on one node of a cluster, because of their tag. While their slot
-- is being moved to another node, neither node can distinguish a key on the other node from a key that does
-- not exist. But both nodes refuse a command for several keys if one key is missing. Therefore each script
-- first asks for several keys, and one of them never exists (NOWHERE). The script is then refused before it
-- reads or writes anything.

local BLOCK, POSTING, WINDOW = 128, 5, 16777216
local FIRST_LEVEL, MAX_LEVEL, LOWER = 14, 22, 16384
local call, byte, sub, find, format, floor =
  redis.call, string.byte, string.sub, string.find, string.format, math.floor

local namespace = sub(KEYS[1], 1, -5)
local texts, bucket_names = namespace .. 'texts:', namespace .. 'postings:'
local NOWHERE = namespace .. 'nowhere'

local function state_of(meta)
  local got = call('HMGET', meta, 'next', 'tail', 'level', 'split', 'count', 'scheme', 'closed')
  return {
    next = tonumber(got[1] or 0), tail = tonumber(got[2] or 0),
    level = tonumber(got[3] or FIRST_LEVEL), split = tonumber(got[4] or 0),
    count = tonumber(got[5] or 0), scheme = got[6], closed = got[7],
  }
end

-- Return the key of the block of a text, and the text's index in it.
local function at_block(number)
  return texts .. format('%x', floor(number / BLOCK)), number % BLOCK
end

local function name_of(bucket)
  return bucket_names .. format('%x', bucket)
end

-- Return the number of the text of the posting at a place. A posting has only the low 24 bits of the number.
-- The result is the highest number below `next` with these bits. Older texts with these bits are already
-- deleted.
local function text_of(postings, place, next)
  local a, b, c = byte(postings, place + 2, place + 4)
  local age = (next - a * 65536 - b * 256 - c) % WINDOW
  -- age 0 would be the text `next`, which does not exist yet, so the posting is a whole window older.
  return next - (age == 0 and WINDOW or age)
end

-- Return the last three bytes of a posting of the text with this number.
local function posting_end(number)
  return string.char(floor(number / 65536) % 256, floor(number / 256) % 256, number % 256)
end

-- Return postings without the postings of deleted texts at the front.
local function without_old(postings, state)
  local from = 1
  while from < #postings and text_of(postings, from, state.next) < state.tail do
    from = from + POSTING
  end
  return from == 1 and postings or sub(postings, from)
end
