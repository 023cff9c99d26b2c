-- Adds keys, all or none of them. Answers 0, or the place (from 1) of one whose id or secret is taken.
-- KEYS: secrets, records, versions, pending, version
-- ARGV: '1' if they are to wait as pending, the channel, then for each key: id, record, n, n hashes
local waits = ARGV[1] == '1'
local keys = {}
local at = 3
while at <= #ARGV do
  local key = { id = ARGV[at], record = ARGV[at + 1], hashes = {} }
  for i = 1, tonumber(ARGV[at + 2]) do key.hashes[i] = ARGV[at + 2 + i] end
  at = at + 3 + #key.hashes
  keys[#keys + 1] = key
end

for place, key in ipairs(keys) do
  if redis.call('HEXISTS', KEYS[2], key.id) == 1 then return place end
  for _, hash in ipairs(key.hashes) do
    if redis.call('HEXISTS', KEYS[1], hash) == 1 then return place end
  end
end

for _, key in ipairs(keys) do
  local version = redis.call('INCR', KEYS[5])
  if waits then redis.call('HSET', KEYS[4], key.id, version) end
  redis.call('HSET', KEYS[2], key.id, key.record)
  redis.call('ZADD', KEYS[3], version, key.id)
  for _, hash in ipairs(key.hashes) do redis.call('HSET', KEYS[1], hash, key.id) end
  if not waits then redis.call('PUBLISH', ARGV[2], version .. ' ' .. key.record) end
end
return 0
