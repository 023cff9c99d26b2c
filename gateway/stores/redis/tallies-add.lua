-- Adds tallies of one day. KEYS: the day   ARGV: seconds to keep it, then name, count and time of each
local day = KEYS[1]
for i = 2, #ARGV, 3 do
  redis.call('HINCRBY', day, 'count ' .. ARGV[i], ARGV[i + 1])
  local last = tonumber(redis.call('HGET', day, 'last ' .. ARGV[i]) or 0)
  if tonumber(ARGV[i + 2]) > last then redis.call('HSET', day, 'last ' .. ARGV[i], ARGV[i + 2]) end
end
redis.call('EXPIRE', day, ARGV[1])
