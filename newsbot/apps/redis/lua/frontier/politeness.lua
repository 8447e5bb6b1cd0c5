-- politeness(now, host, delay, concurrency, at_least) -> 1
--   Sets the delay between turns (seconds) and the maximum number of leases. at_least: '1' to make a known
--   host only slower. The delay counts from the last turn; a longer rest is not shortened.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local host = host_of(ARGV[2])
local delay, concurrency = tonumber(ARGV[3]), tonumber(ARGV[4])
if ARGV[5] == '1' and redis.call('HEXISTS', KEYS[13], ARGV[2]) == 1 then
  delay, concurrency = math.max(host.delay, delay), math.min(host.concurrency, concurrency)
end
if host.delay ~= delay or host.concurrency ~= concurrency then
  if host.last_turn ~= NEVER then
    -- After a turn, next_turn is exactly last_turn + delay. Any other value was set by back_off.
    local rests = host.next_turn ~= host.last_turn + host.delay
    host.next_turn = math.max(rests and host.next_turn or 0, host.last_turn + delay)
  end
  host.delay, host.concurrency, host.changed = delay, concurrency, true
end
put_hosts()
return 1
