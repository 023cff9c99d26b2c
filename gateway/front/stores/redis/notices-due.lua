-- Hands out notices of a queue that are due, and removes those that are too old.
-- KEYS: items, due, age
-- ARGV: the most, how long they are handed to nobody else, how long notices are kept; the time, or '' for Redis' clock
local items, due, age = KEYS[1], KEYS[2], KEYS[3]
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', age, '-inf', now - ARGV[3], 'LIMIT', 0, 100)) do
  redis.call('HDEL', items, id)
  redis.call('ZREM', due, id)
  redis.call('ZREM', age, id)
end
local answer = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, ARGV[1])) do
  local item = redis.call('HGET', items, id)
  if item then
    redis.call('ZADD', due, now + ARGV[2], id)
    table.insert(answer, item)
  else
    redis.call('ZREM', due, id)
  end
end
return answer
