-- Adds tallies of one day.
-- ARGV from the fourth on: the day; then for each tally: name, count and time
--include count-space.lua
local function sum(one, other) return one + other end
local function merge(field, value, merged)
  local before = tonumber(redis.call('HGET', hash, field) or 0)
  redis.call('HSET', hash, field, string.format('%.0f', merged(before, value)))
end
for i = 5, #ARGV, 3 do
  merge('count ' .. ARGV[i], tonumber(ARGV[i + 1]), sum)
  if ARGV[i + 2] ~= '0' then merge('last ' .. ARGV[i], tonumber(ARGV[i + 2]), math.max) end
end
return added(ARGV[4])
