-- take_turn(now, host, missed) -> seconds until the turn
--   Reserves the host's next turn for a request that is not queued. The turn after it is a delay later.
--   missed: the time of a turn that the caller reserved and did not use; empty: none. If it is still the
--   host's last turn and the host does not rest, the caller gets a turn now.
-- Keys: meta, hosts, turns, full (1, 13-15, see lib.lua)

local now = present()
keep_pace(now)
local host = host_of(ARGV[2])
local missed = tonumber(ARGV[3])
-- The tolerance is a millisecond, because two floating-point sums of the same turn may differ.
if missed and host.last_turn <= missed + 0.001 and host.next_turn <= host.last_turn + host.delay + 0.001 then
  host.next_turn = host.last_turn
end
local at = math.max(now, host.next_turn)
host.last_turn, host.next_turn = at, at + host.delay
host.changed = true
put_hosts()
return number(at - now)
