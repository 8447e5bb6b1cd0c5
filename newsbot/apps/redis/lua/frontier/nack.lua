-- nack(now, fingerprint, token, delay, aside, counted) -> 1, or 0 if the caller does not hold the lease
--   delay: seconds until the entry may be leased again; aside: '1' to set it aside instead.
--   counted: '1' to count a failed attempt; else the entry did not cause the failure.
-- Keys: entries, held, aside, leases, holders, owned, out, hosts, turns, full (2, 6, 8-15, see lib.lua)

local now = present()
local fingerprint = ARGV[2]
local record = record_of_lease(fingerprint, ARGV[3])
if not record then
  return 0
end
if ARGV[6] == '1' then
  -- lost = 0, because the worker has survived. If the failure is not counted, the entry was not tried, and a
  -- suspect stays a suspect.
  record.attempts, record.lost = record.attempts + 1, 0
end
if ARGV[5] == '1' then
  record.note = 'given up after attempt ' .. record.attempts
  move(fingerprint, record, 'a', now)
else
  move(fingerprint, record, 'h', now + tonumber(ARGV[4]))
end
put_hosts()
return 1
