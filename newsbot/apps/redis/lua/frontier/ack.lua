-- ack(now, level, fetched, (fingerprint, token, next_due, within)...) -> the number of known URLs, or 0 if it has not
--   changed; then for each lease 1, or 0 if the caller does not hold it. next_due: empty for never. If next_due is empty
--   or more than within seconds away, only the minute of this fetch is kept. The refill queues the page again from
--   the storage before next_due. fetched: empty if the pages were not requested.
-- Keys: meta, entries, due, leases, holders, owned, out, hosts, turns, full (1, 2, 7, 9-15, see lib.lua);
--   KEYS[16], KEYS[17] ...  HASH  the buckets of each fingerprint at the level and at the next

if not known_level(ARGV[2]) then
  return level_changed()
end
local now = present()
local answer = {0}
for at = 4, #ARGV, 4 do
  local fingerprint, next_due = ARGV[at], tonumber(ARGV[at + 2])
  local record = record_of_lease(fingerprint, ARGV[at + 1])
  answer[#answer + 1] = record and 1 or 0
  if record then
    -- The worker has survived, so the entry is not a suspect any more.
    record.attempts, record.lost = 0, 0
    if ARGV[3] ~= '' then
      record.fetched = now
    end
    if not next_due or next_due > now + tonumber(ARGV[at + 3]) then
      -- The record is deleted. Only its fingerprint and the minute of the fetch are kept.
      leave.l(fingerprint, record)
      redis.call('HDEL', KEYS[2], fingerprint)
      answer[1] = keep_known(fingerprint, at / 4 - 1, record.fetched)
    else
      move(fingerprint, record, 'd', next_due)
    end
  end
end
put_hosts()
return answer
