-- return_turn(now, host) -> 1
--   The host's last turn was not used: the next one is now, unless the host rests.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local now = present()
local host = host_of(ARGV[2])
if host.next_turn <= host.last_turn + host.delay then
  host.next_turn = math.min(host.next_turn, now)
  host.changed = true
  put_hosts()
end
return 1
