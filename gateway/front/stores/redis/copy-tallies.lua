-- Puts tallies of one day. Of a stored one, the larger count wins.
-- KEYS: the day   ARGV: seconds to keep the day, then name, count and time of each
local day = KEYS[1]
local function put(field, value)
  if tonumber(value) > tonumber(redis.call('HGET', day, field) or 0) then
    redis.call('HSET', day, field, value)
  end
end
for i = 2, #ARGV, 3 do
  put('count ' .. ARGV[i], ARGV[i + 1])
  put('last ' .. ARGV[i], ARGV[i + 2])
end
if redis.call('TTL', day) < tonumber(ARGV[1]) then redis.call('EXPIRE', day, ARGV[1]) end
