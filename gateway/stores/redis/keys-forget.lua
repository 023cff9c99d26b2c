-- Takes back what an import that died has left. Answers how many keys it found.
-- KEYS: secrets, records, versions, pending   ARGV: how many at most
local pending = redis.call('HRANDFIELD', KEYS[4], ARGV[1])
for _, id in ipairs(pending) do
  local record = redis.call('HGET', KEYS[2], id)
  if record then
    for _, secret in ipairs(cjson.decode(record).secrets) do
      redis.call('HDEL', KEYS[1], secret.hash)
    end
  end
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('HDEL', KEYS[4], id)
end
return #pending
