-- Hands out notices of a queue that are due, and removes those that are too old.
-- KEYS: items, due, age
-- ARGV: the time, see now.lua; the most, how long they are handed to nobody else, how long notices are kept
local items, due, age = KEYS[1], KEYS[2], KEYS[3]
--include now.lua
for _, id in ipairs(redis.call('ZRANGEBYSCORE', age, '-inf', now - ARGV[4], 'LIMIT', 0, 100)) do
  redis.call('HDEL', items, id)
  redis.call('ZREM', due, id)
  redis.call('ZREM', age, id)
end
local answer = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local item = redis.call('HGET', items, id)
  if item then
    redis.call('ZADD', due, now + ARGV[3], id)
    table.insert(answer, item)
  else
    redis.call('ZREM', due, id)
  end
end
return answer
