-- ack(now, level, fingerprint, token, next_due, within, fetched) -> 0 if the lease is not the caller's; else
--   1 + the number of known URLs, or 1 if the entry is kept in full. next_due: empty for never. Without next_due, or
--   if it is more than within seconds away, only the minute of this fetch is kept. The refill queues the page
--   again from the storage before next_due. fetched: empty if the page was not requested.
-- Keys: meta, entries, due, leases, holders, owned, out, hosts, turns, full (1, 2, 7, 9-15, see lib.lua);
--   KEYS[16], KEYS[17]  HASH  the buckets of the fingerprint at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
local now = present()
local fingerprint = ARGV[3]
local record = record_of_lease(fingerprint, ARGV[4])
if not record then
  return 0
end
-- The worker has survived the entry, so it is not a suspect any more.
record.attempts, record.lost = 0, 0
if ARGV[7] ~= '' then
  record.fetched = now
end
local known = 0
local next_due = tonumber(ARGV[5])
if not next_due or next_due > now + tonumber(ARGV[6]) then
  -- The record goes, and only its fingerprint and the minute of the fetch stay.
  leave.l(fingerprint, record)
  redis.call('HDEL', KEYS[2], fingerprint)
  known = keep_known(fingerprint, 0, record.fetched)
else
  move(fingerprint, record, 'd', next_due)
end
put_hosts()
return 1 + known
