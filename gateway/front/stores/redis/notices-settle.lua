-- Ends a try of a notice.
-- KEYS: items, due, age; addresses
-- ARGV: the address and its version, the id, the outcome; the item and the delay, where the outcome has them; the time,
--       or '' for Redis' clock
local items, due, age, addresses = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local address, version, id, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local now = tonumber(ARGV[7])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
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
  redis.call('HSET', items, id, ARGV[5])
  if outcome == 'again' then
    redis.call('ZADD', due, now + ARGV[6], id)
  else
    redis.call('ZREM', due, id)
  end
end
return 1
