-- Puts keys with their versions. Answers the number of new keys. If a secret belongs to another key, puts
-- nothing and answers the negative index (from 1) of the first such key.
-- KEYS: secrets, records, versions, version, lined
-- ARGV: the channel; then for each key: id, version, record, n, n hashes
local keys = {}
local at = 2
while at <= #ARGV do
  local key = { id = ARGV[at], version = ARGV[at + 1], record = ARGV[at + 2], hashes = {} }
  for i = 1, tonumber(ARGV[at + 3]) do key.hashes[i] = ARGV[at + 3 + i] end
  at = at + 4 + #key.hashes
  keys[#keys + 1] = key
end

for index, key in ipairs(keys) do
  for _, hash in ipairs(key.hashes) do
    local holder = redis.call('HGET', KEYS[1], hash)
    if holder and holder ~= key.id then return -index end
  end
end

local latest = tonumber(redis.call('GET', KEYS[4]) or 0)
local highest = latest
local lined = tonumber(redis.call('GET', KEYS[5]) or 0)
local added = 0
for _, key in ipairs(keys) do
  local stored = redis.call('ZSCORE', KEYS[3], key.id)
  local version = tonumber(key.version)
  if not stored or tonumber(stored) < version then
    if not stored then added = added + 1 end
    redis.call('HSET', KEYS[2], key.id, key.record)
    redis.call('ZADD', KEYS[3], key.version, key.id)
    for _, hash in ipairs(key.hashes) do redis.call('HSET', KEYS[1], hash, key.id) end
    -- A watch that polls the count of changes misses versions below it, so this one is published.
    if version <= latest then redis.call('PUBLISH', ARGV[1], key.version .. ' ' .. key.record) end
    highest = math.max(highest, version)
    -- The index makes the lines of these keys when it catches up.
    if version <= lined then lined = version - 1 end
  end
end
redis.call('SET', KEYS[5], string.format('%.0f', lined))
if highest > latest then redis.call('SET', KEYS[4], string.format('%.0f', highest)) end
return added
