-- return_turn(now, host, turn) -> 1
--   Undoes the turn of a lease that was not used: the host's next turn is now, unless the host rests (back_off)
--   or a later turn was reserved.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local now = present()
local host = host_of(ARGV[2])
-- A later next turn was set by back_off.
if host.last_turn <= tonumber(ARGV[3]) + 0.001 and host.next_turn <= host.last_turn + host.delay then
  host.next_turn = math.min(host.next_turn, now)
  host.changed = true
  put_hosts()
end
return 1
