-- probe(entries, bytes) -> 1 or 0 for each
--   Whether the server keeps a hash with so many entries as a listpack, and one with a value of so many bytes.
--   It is tried, because few may ask for the server's settings.
-- Keys: one that nobody uses

local function stays_compact(values)
  call('HSET', KEYS[1], unpack(values))
  local kept_as = call('OBJECT', 'ENCODING', KEYS[1])
  call('DEL', KEYS[1])
  return kept_as == 'listpack' and 1 or 0
end

local many = {}
for entry = 1, 2 * tonumber(ARGV[1]) do
  many[entry] = entry
end
return {stays_compact(many), stays_compact({1, string.rep('x', tonumber(ARGV[2]))})}
