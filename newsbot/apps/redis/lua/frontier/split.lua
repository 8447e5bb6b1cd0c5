-- split(now, level, index) -> 1, or 0 if this bucket is not the next bucket to split
--   Splits a bucket of known URLs into two buckets of the next level.
-- Keys: meta (1, see lib.lua);
--   KEYS[16]            HASH  the bucket
--   KEYS[17], KEYS[18]  HASH  its halves: fields whose next bit is 0, and whose next bit is 1

local index = tonumber(ARGV[3])
if not known_level(ARGV[2]) or split ~= index then
  return 0
end
-- "bits" are left in the fields of this bucket. The first of them selects the half and is not stored there.
local bits = 60 - level
local half = 2 ^ (bits - 1)
local fields = redis.call('HGETALL', KEYS[16])
for place = 1, #fields, 2 do
  local rest = struct.unpack('>I' .. #fields[place], fields[place])
  local key = rest < half and KEYS[17] or KEYS[18]
  redis.call('HSET', key, field_of(rest % half, bits - 1), fields[place + 1])
end
redis.call('DEL', KEYS[16])
-- All buckets of a level are split in order. Then the next level begins.
if index + 1 < 2 ^ level then
  redis.call('HSET', KEYS[1], 'level', level, 'split', index + 1)
else
  redis.call('HSET', KEYS[1], 'level', level + 1, 'split', 0)
end
return 1
