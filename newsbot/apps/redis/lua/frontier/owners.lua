-- owners(now) -> the owners that hold leases
-- Keys: owned (11, see lib.lua)

local owners = {}
local from = '-'
while true do
  local member = redis.call('ZRANGEBYLEX', KEYS[11], from, '+', 'LIMIT', 0, 1)[1]
  if not member then
    return owners
  end
  local owner = member:sub(1, -18) -- without NUL and fingerprint
  owners[#owners + 1] = owner
  -- One seek for each owner: the next seek starts after all leases of this owner.
  from = '(' .. owner .. '\1'
end
