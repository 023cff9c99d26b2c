-- Ends a try of a notice.
-- KEYS: items, due, age; addresses
-- ARGV: the time, see now.lua; the address and its version, the id, the outcome; the item and the delay, where the outcome
--       has them
local items, due, age, addresses = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local address, version, id, outcome = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
--include now.lua
if outcome == 'delivered' then
  redis.call('HDEL', items, id)
  redis.call('ZREM', due, id)
  redis.call('ZREM', age, id)
elseif outcome == 'ended' then
  redis.call('HINCRBY', addresses, 'dropped ' .. address, redis.call('ZCARD', due))
  redis.call('HSET', addresses, 'ended ' .. address, version .. ' ' .. now)
  redis.call('DEL', items, due, age)
elseif outcome == 'revived' then
  redis.call('HDEL', addresses, 'ended ' .. address)
elseif redis.call('HEXISTS', items, id) == 1 then
  redis.call('HSET', items, id, ARGV[6])
  if outcome == 'again' then
    redis.call('ZADD', due, now + ARGV[7], id)
  else
    redis.call('ZREM', due, id)
  end
end
return 1
