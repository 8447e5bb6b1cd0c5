-- politeness(now, host, delay, concurrency) -> 1
--   Sets seconds a turn and leases at once. A longer delay holds from the last turn on.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local host = host_of(ARGV[2])
local delay, concurrency = tonumber(ARGV[3]), tonumber(ARGV[4])
if host.delay ~= delay or host.concurrency ~= concurrency then
  host.delay, host.concurrency, host.changed = delay, concurrency, true
  if host.last_turn ~= NEVER then
    host.next_turn = math.max(host.next_turn, host.last_turn + delay)
  end
end
put_hosts()
return 1
