-- take_turn(now, host) -> seconds until the turn
--   A turn for a request that is not queued: the host's next one, and its clock strikes again a delay after it.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local now = present()
local host = host_of(ARGV[2])
local at = math.max(now, host.next_turn)
host.last_turn, host.next_turn = at, at + host.delay
host.changed = true
put_hosts()
return number(at - now)
