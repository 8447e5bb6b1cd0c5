-- return_turn(now, host) -> 1
--   Undoes a turn of the host that was not used: the host's next turn is now, unless the host rests (back_off).
-- Keys: hosts, turns, full (13-15, see lib.lua)

local now = present()
local host = host_of(ARGV[2])
-- A later next turn was set by back_off.
if host.next_turn <= host.last_turn + host.delay then
  host.next_turn = math.min(host.next_turn, now)
  host.changed = true
  put_hosts()
end
return 1
