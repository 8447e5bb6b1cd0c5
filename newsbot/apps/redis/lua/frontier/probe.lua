-- probe(now, entries) -> 1 if the server stores a hash with this number of entries as a listpack, else 0
--   It writes such a hash and deletes it, because many servers do not permit CONFIG GET.
-- Keys: KEYS[16]  HASH  a key that is otherwise unused

local values = {}
for entry = 1, 2 * tonumber(ARGV[2]) do
  values[entry] = entry
end
redis.call('HSET', KEYS[16], unpack(values))
local kept_as = redis.call('OBJECT', 'ENCODING', KEYS[16])
redis.call('DEL', KEYS[16])
return kept_as == 'listpack' and 1 or 0
