-- back_off(now, host, seconds) -> 1
--   The host's next turn is at least seconds from now. A longer rest is not shortened.
-- Keys: hosts, turns, full (13-15, see lib.lua)

local host = host_of(ARGV[2])
host.next_turn = math.max(host.next_turn, present() + tonumber(ARGV[3]))
host.changed = true
put_hosts()
return 1
