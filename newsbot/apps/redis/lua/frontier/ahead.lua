-- ahead(now, horizon, batch, part, offset, limit) -> identity, now, overdue, next part (empty: this was the
--   last), next offset, [part, host, record of the host, moment, ...]
--   What is pending at each host: the parts below in their order, from an offset in a part on, up to limit
--   members. The first page settles up to batch entries of each state (see lib.lua). overdue: as in outlook.lua.
-- Keys: all of 1-15, see lib.lua

local now, horizon = present(), horizon_of(ARGV[2])
local part, offset, left = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
if part == 1 and offset == 0 then
  settle(now, horizon, tonumber(ARGV[3]))
  put_hosts()
end
local reply = {redis.call('HGET', KEYS[1], 'identity') or '', number(now),
  redis.call('ZCOUNT', KEYS[9], '-inf', number(now)) + redis.call('ZCOUNT', KEYS[5], '-inf', number(horizon))
  + redis.call('ZCOUNT', KEYS[7], '-inf', number(horizon))}

local function row(name, record, moment)
  local last = #reply
  reply[last + 1], reply[last + 2], reply[last + 3], reply[last + 4] = part, name, record, moment
end

local function rows(names, moments) -- with the records of the hosts, which are read with one command
  for place, record in ipairs(#names > 0 and redis.call('HMGET', KEYS[13], unpack(names)) or {}) do
    row(names[place], record or '', moments and moments[place] or '')
  end
end

local PARTS = {
  {KEYS[4], function(found) -- 1: an entry that is ready, but due after the horizon
    for place = 1, #found, 2 do
      if tonumber(found[place + 1]) > horizon then row(found[place]:sub(17), '', '') end
    end
  end},
  {KEYS[14], function(found) rows(found) end}, -- 2: a host with a ready entry and room for a lease
  {KEYS[15], function(found) rows(found) end}, -- 3: a host with a ready entry and no room for a lease
  {KEYS[6], function(found) -- 4: an entry whose delay ends at the moment: fingerprint (16 bytes), due (8), host
    local names, moments = {}, {}
    for place = 1, #found, 2 do
      if struct.unpack('>d', found[place], 17) <= horizon then
        moments[#names + 1] = found[place + 1]
        names[#names + 1] = found[place]:sub(25)
      end
    end
    rows(names, moments)
  end},
  {KEYS[12], function(found) -- 5: a lease that expires at the moment. The record is 'due' if its entry is due
    for _, member in ipairs(found) do -- from the end: fingerprint (16 bytes), due (8), deadline (8), NUL
      local deadline = unsorted(member:sub(-32, -25))
      -- An expired lease is counted as overdue above.
      local counts = deadline > now and struct.unpack('>d', member, #member - 23) <= horizon
      row(member:sub(1, -34), counts and 'due' or '', number(deadline))
    end
  end},
}

reply[4], reply[5] = '', '' -- the next part and offset, which are known only after the last row
while part <= #PARTS and left > 0 do
  -- In the first part, the entries that are due last come first, and those within the horizon are not read.
  local scored = part == 1 or part == 4
  local found = redis.call(part == 1 and 'ZREVRANGE' or 'ZRANGE', PARTS[part][1], offset, offset + left - 1,
    unpack(scored and {'WITHSCORES'} or {}))
  PARTS[part][2](found)
  local number_of_members = scored and #found / 2 or #found
  left, offset = left - number_of_members, offset + number_of_members
  if left > 0 or part == 1 and tonumber(found[#found]) <= horizon then
    part, offset = part + 1, 0
  end
end
reply[4], reply[5] = part <= #PARTS and part or '', offset
return reply
