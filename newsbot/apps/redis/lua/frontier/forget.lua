-- forget(now, level, fingerprint, ...) -> 1
--   Forgets known URLs, because another queue knows them now.
-- Keys: meta (1, see lib.lua);
--   KEYS[16 + 2n], KEYS[17 + 2n]  HASH  the buckets of the n-th fingerprint, from 0, at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
for place = 3, #ARGV do
  forget_known(ARGV[place], place - 3)
end
return 1
