-- What every script of the near-duplicate index begins with (newsbot/connections/redis.py puts it there).
--
-- Keys. All carry one hash tag, {NAMESPACE:near}:
--   meta        HASH    scheme (what signatures, buckets and records are made by), next (number of the next
--                       text), tail (all texts below it are gone), count (texts kept), level, split
--   texts:B     LIST    the records of the texts 128 * B to 128 * B + 127, by number; an empty one is gone.
--                       Record: newsbot/dedup/record.py
--   postings:I  STRING  bucket I: postings of five bytes, oldest first. A posting is 16 bits of a hash (of a
--                       passage, or of the id of the text), then the low 24 bits of the number of the text.
--
-- The place of a posting has four bytes: those 16 bits, then 16 more. Its bucket is found by linear hashing
-- (newsbot/dedup/redis/index.py), first by the last 14 bits, then by those that postings keep too: they tell
-- which half of a bucket that is split is theirs. So there are 2^14 buckets at first (FIRST_LEVEL); beyond 2^22
-- (12 million texts; no more than 16 million are kept) they only get fuller.
--
-- Strings, since one command reads many of them and one writes them: what a script costs is its commands.
--
-- Postings of a text that is gone are left. Those at the front of a bucket, where the oldest stand, are taken
-- out when it is written, or by tend; others when somebody meets them.
--
-- The scripts make the names of their keys from that of meta: to send them with each call would take a fifth
-- of its time. All are on the same node, by their tag. While their slot is being moved to another node, both
-- nodes take a key that they do not have for one that the other has, or even for one that nobody has; but they
-- refuse a command for several keys if one is missing. So each script first asks for several, one of which is
-- never there (NOWHERE): then it is refused as a whole, before anything is read wrongly or written.

local BLOCK, POSTING, WINDOW = 128, 5, 16777216
local FIRST_LEVEL, MAX_LEVEL, LOWER = 14, 22, 16384
local call, byte, sub, find, format, floor =
  redis.call, string.byte, string.sub, string.find, string.format, math.floor

local namespace = sub(KEYS[1], 1, -5)
local texts, bucket_names = namespace .. 'texts:', namespace .. 'postings:'
local NOWHERE = namespace .. 'nowhere'

local function state_of(meta)
  local got = call('HMGET', meta, 'next', 'tail', 'level', 'split', 'count', 'scheme')
  return {
    next = tonumber(got[1] or 0), tail = tonumber(got[2] or 0),
    level = tonumber(got[3] or FIRST_LEVEL), split = tonumber(got[4] or 0),
    count = tonumber(got[5] or 0), scheme = got[6],
  }
end

-- The block of a text, and its place there.
local function at_block(number)
  return texts .. format('%x', floor(number / BLOCK)), number % BLOCK
end

local function name_of(bucket)
  return bucket_names .. format('%x', bucket)
end

-- The number of the text of the posting at a place. One that is older than the window is gone anyway.
local function text_of(postings, place, next)
  local a, b, c = byte(postings, place + 2, place + 4)
  local age = (next - a * 65536 - b * 256 - c) % WINDOW
  return next - (age == 0 and WINDOW or age)
end

-- What a posting of the text with this number ends with.
local function posting_end(number)
  return string.char(floor(number / 65536) % 256, floor(number / 256) % 256, number % 256)
end

-- Postings without those at the front whose texts are gone.
local function without_old(postings, state)
  local from = 1
  while from < #postings and text_of(postings, from, state.next) < state.tail do
    from = from + POSTING
  end
  return from == 1 and postings or sub(postings, from)
end
