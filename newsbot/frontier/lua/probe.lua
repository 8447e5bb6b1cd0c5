-- probe(entries) -> 1 or 0
--   Whether the server keeps a hash with so many entries as a listpack. It is tried, because few may ask for the
--   server's settings. KEYS[16]: a key that nobody uses.

local values = {}
for entry = 1, 2 * tonumber(ARGV[2]) do
  values[entry] = entry
end
redis.call('HSET', KEYS[16], unpack(values))
local kept_as = redis.call('OBJECT', 'ENCODING', KEYS[16])
redis.call('DEL', KEYS[16])
return kept_as == 'listpack' and 1 or 0
