-- The beginning of scripts that add batches of counts to a hash, each batch once.
-- KEYS: the hash   ARGV: the gateway, the number of its batch, seconds to keep the hash; then the script's own.
-- Fields: @<gateway>: the number of its last batch, and the day or hour of that
local hash, by, number = KEYS[1], '@' .. ARGV[1], tonumber(ARGV[2])
local last = redis.call('HGET', hash, by)
if last and number <= tonumber(string.match(last, '^%d+')) then return 0 end

-- Forgets the batch of another gateway. One that is repeated comes soon, so that its number is needed for a while.
local function forgetOld(field, value, latest)
  if tonumber(string.match(value, ' (%d+)$') or 0) < latest - 1 then redis.call('HDEL', hash, field) end
end

local function added(latest)
  redis.call('HSET', hash, by, ARGV[2] .. ' ' .. string.format('%.0f', latest))
  redis.call('EXPIRE', hash, ARGV[3])
  return 1
end
