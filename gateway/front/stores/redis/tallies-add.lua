-- Adds tallies of one day, once. KEYS: the day, the batch
-- ARGV: seconds to keep the day, seconds to remember the batch, then name, count and time of each
local day = KEYS[1]
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[2]) then return end
for i = 3, #ARGV, 3 do
  redis.call('HINCRBY', day, 'count ' .. ARGV[i], ARGV[i + 1])
  local at = tonumber(ARGV[i + 2])
  if at > 0 and at > tonumber(redis.call('HGET', day, 'last ' .. ARGV[i]) or 0) then
    redis.call('HSET', day, 'last ' .. ARGV[i], ARGV[i + 2])
  end
end
redis.call('EXPIRE', day, ARGV[1])
