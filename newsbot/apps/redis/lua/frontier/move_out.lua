-- move_out(now, number of hosts, [host, ...], [fingerprint, ...]) -> 1
--   Removes entries, and hosts without entries, because another queue has them now.
-- Keys: all of 1-15, see lib.lua

local first = 3 + tonumber(ARGV[2])
for place = 3, first - 1 do
  redis.call('HDEL', KEYS[13], ARGV[place])
end
for place = first, #ARGV do
  local record = load(ARGV[place])
  if record then
    leave[record.state](ARGV[place], record)
    redis.call('HDEL', KEYS[2], ARGV[place])
  end
end
put_hosts()
return 1
