-- Adds tallies of one day; batches.lua stands before it.
-- ARGV from the fourth on: the day; then for each tally: name, count and time
for i = 5, #ARGV, 3 do
  redis.call('HINCRBY', hash, 'count ' .. ARGV[i], ARGV[i + 1])
  local at = tonumber(ARGV[i + 2])
  if at > 0 and at > tonumber(redis.call('HGET', hash, 'last ' .. ARGV[i]) or 0) then
    redis.call('HSET', hash, 'last ' .. ARGV[i], ARGV[i + 2])
  end
end
return added(ARGV[4])
