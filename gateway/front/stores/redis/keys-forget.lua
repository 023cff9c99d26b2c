-- Removes keys of an unfinished import. Answers their ids and records: { id, record, id, record, ... }
-- KEYS: secrets, records, versions, pending, lock   ARGV: the owner of the lock, the most keys to remove
if redis.call('GET', KEYS[5]) ~= ARGV[1] then return {} end
local pending = redis.call('HRANDFIELD', KEYS[4], ARGV[2])
local removed = {}
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
  removed[#removed + 1] = id
  removed[#removed + 1] = record or ''
end
return removed
