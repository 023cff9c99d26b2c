-- Replaces a key if it still has the version that was read. Answers 1, or 0 if it has changed meanwhile.
-- KEYS: secrets, records, versions, version, lines, lined
-- ARGV: channel, id, version, record, its line, the line before, hashes...
--include keys-version.lua
local version = redis.call('ZSCORE', KEYS[3], ARGV[2])
if not version or tonumber(version) ~= tonumber(ARGV[3]) then return 0 end
local latest, former = versionsIn(KEYS[4])
local next = string.format('%.0f', former + 1)
redis.call('SET', KEYS[4], next)
redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
redis.call('ZADD', KEYS[3], next, ARGV[2])
redis.call('ZREM', KEYS[5], ARGV[6])
redis.call('ZADD', KEYS[5], 0, ARGV[5])
if tonumber(redis.call('GET', KEYS[6]) or 0) >= latest then redis.call('SET', KEYS[6], next) end
for i = 7, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], ARGV[2]) end
redis.call('PUBLISH', ARGV[1], next .. ' ' .. ARGV[4])
return 1
