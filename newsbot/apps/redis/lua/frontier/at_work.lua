-- at_work(now) -> the owners of leases that have not expired
-- Keys: leases, holders (9, 10, see lib.lua)

local owners, seen = {}, {}
for _, fingerprint in ipairs(redis.call('ZRANGEBYSCORE', KEYS[9], '(' .. number(present()), '+inf')) do
  local owner = redis.call('HGET', KEYS[10], fingerprint):sub(17)
  if not seen[owner] then
    seen[owner] = true
    owners[#owners + 1] = owner
  end
end
return owners
