-- Adds keys, all or none. Answers 0, the index (from 1) of the first key whose id or secret is taken, or
-- -1 if the import doesn't hold its lock any more.
-- KEYS: secrets, records, versions, pending, version, lock, lines, lined
-- ARGV: the import's owner, whose keys stay pending, or '' for keys that are visible at once; the channel;
--       then for each key: id, record, line, n, n hashes
--include keys-version.lua
local owner = ARGV[1]
if owner ~= '' and redis.call('GET', KEYS[6]) ~= owner then return -1 end
local keys = {}
local at = 3
while at <= #ARGV do
  local key = { id = ARGV[at], record = ARGV[at + 1], line = ARGV[at + 2], hashes = {} }
  for i = 1, tonumber(ARGV[at + 3]) do key.hashes[i] = ARGV[at + 3 + i] end
  at = at + 4 + #key.hashes
  keys[#keys + 1] = key
end

for index, key in ipairs(keys) do
  if redis.call('HEXISTS', KEYS[2], key.id) == 1 then return index end
  for _, hash in ipairs(key.hashes) do
    if redis.call('HEXISTS', KEYS[1], hash) == 1 then return index end
  end
end

local latest, version = versionsIn(KEYS[5])
for _, key in ipairs(keys) do
  version = version + 1
  local text = string.format('%.0f', version)
  if owner ~= '' then redis.call('HSET', KEYS[4], key.id, text) end
  redis.call('HSET', KEYS[2], key.id, key.record)
  redis.call('ZADD', KEYS[3], text, key.id)
  redis.call('ZADD', KEYS[7], 0, key.line)
  for _, hash in ipairs(key.hashes) do redis.call('HSET', KEYS[1], hash, key.id) end
  if owner == '' then redis.call('PUBLISH', ARGV[2], text .. ' ' .. key.record) end
end
local text = string.format('%.0f', version)
redis.call('SET', KEYS[5], text)
-- Otherwise lines of earlier versions, of keys that were copied, are made when the index catches up.
if tonumber(redis.call('GET', KEYS[8]) or 0) >= latest then redis.call('SET', KEYS[8], text) end
return 0
