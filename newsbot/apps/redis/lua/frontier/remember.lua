-- remember(now, level, fingerprint, fetched, ...) -> the number of known URLs
--   Two values for each URL; fetched: POSIX seconds of the last fetch, empty for never. URLs that are already
--   known stay unchanged.
-- Keys: meta, entries (1, 2, see lib.lua);
--   KEYS[16 + 2n], KEYS[17 + 2n]  HASH  the buckets of the n-th fingerprint, from 0, at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
for first = 3, #ARGV, 2 do
  local fingerprint, place = ARGV[first], (first - 3) / 2
  if redis.call('HEXISTS', KEYS[2], fingerprint) == 0 and not last_fetch(fingerprint, place) then
    keep_known(fingerprint, place, tonumber(ARGV[first + 1]) or NEVER)
  end
end
return tonumber(redis.call('HGET', KEYS[1], 'known') or 0)
