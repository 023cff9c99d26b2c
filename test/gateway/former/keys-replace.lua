-- Replaces a key if it still has the version that was read. Answers 1, or 0 if it has changed meanwhile.
-- KEYS: secrets, records, versions, version   ARGV: channel, id, version, record, hashes...
local version = redis.call('ZSCORE', KEYS[3], ARGV[2])
if not version or tonumber(version) ~= tonumber(ARGV[3]) then return 0 end
local time = redis.call('TIME')
local next = string.format('%.0f',
  math.max(tonumber(redis.call('GET', KEYS[4]) or 0), time[1] * 1000000 + time[2]) + 1)
redis.call('SET', KEYS[4], next)
redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
redis.call('ZADD', KEYS[3], next, ARGV[2])
for i = 5, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], ARGV[2]) end
redis.call('PUBLISH', ARGV[1], next .. ' ' .. ARGV[4])
return 1
