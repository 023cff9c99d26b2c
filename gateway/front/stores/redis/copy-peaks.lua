-- Puts the peaks of quotas. Of a day that is stored already, the larger numbers win. For the fields see peaks-add.lua.
-- KEYS: the hash of a group of quotas
-- ARGV: the number of days that are kept, seconds to keep the hash; then the name and the field of each quota
local hash, kept = KEYS[1], tonumber(ARGV[1])

-- The newest day of a field, and the numbers of each of its days.
local function daysOf(value)
  local newest = tonumber(string.match(value, '^%d+'))
  local all, day = {}, newest
  for part in string.gmatch(value, ';([^;]*)') do
    local minute, used, byMinute, byDay = string.match(part, '^(%d+) (%d+) ?(%d*) ?(%d*)$')
    if minute then
      all[day] = { tonumber(minute), tonumber(used), tonumber(byMinute) or 0, tonumber(byDay) or 0 }
    end
    day = day - 1
  end
  return newest, all
end

local function textOf(numbers)
  local text = string.format('%.0f %.0f', numbers[1], numbers[2])
  if numbers[3] + numbers[4] == 0 then return text end
  return text .. string.format(' %.0f %.0f', numbers[3], numbers[4])
end

local function merged(given, stored)
  local newest, all = daysOf(given)
  local storedNewest, others = daysOf(stored)
  for day, numbers in pairs(others) do
    local present = all[day]
    if present then
      for i = 1, 4 do present[i] = math.max(present[i], numbers[i]) end
    else
      all[day] = numbers
    end
  end
  newest = math.max(newest, storedNewest)
  local parts, last = {}, 1
  for back = 0, kept - 1 do
    local numbers = all[newest - back]
    parts[back + 1] = numbers and textOf(numbers) or ''
    if numbers then last = back + 1 end
  end
  return string.format('%.0f;', newest) .. table.concat(parts, ';', 1, last)
end

for i = 3, #ARGV, 2 do
  local quota, value = ARGV[i], ARGV[i + 1]
  local stored = redis.call('HGET', hash, quota)
  redis.call('HSET', hash, quota, stored and merged(value, stored) or value)
end
if redis.call('TTL', hash) < tonumber(ARGV[2]) then redis.call('EXPIRE', hash, ARGV[2]) end
