-- politeness(now, host, delay, concurrency, at_least) -> 1
--   Sets seconds a turn and leases at once; at_least: '1' to make a known host slower only. A longer delay holds from the last turn on.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local host = host_of(ARGV[2])
local delay, concurrency = tonumber(ARGV[3]), tonumber(ARGV[4])
if ARGV[5] == '1' and redis.call('HEXISTS', KEYS[13], ARGV[2]) == 1 then
  delay, concurrency = math.max(host.delay, delay), math.min(host.concurrency, concurrency)
end
if host.delay ~= delay or host.concurrency ~= concurrency then
  host.delay, host.concurrency, host.changed = delay, concurrency, true
  if host.last_turn ~= NEVER then
    host.next_turn = math.max(host.next_turn, host.last_turn + delay)
  end
end
put_hosts()
return 1
