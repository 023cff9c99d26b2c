-- Removes a key with its line and its last uses, if it still has the version that was read. Answers 1, or 0 if it hasn't.
-- KEYS: records, versions, lines, used   ARGV: id, version, its line
local version = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not version or tonumber(version) ~= tonumber(ARGV[2]) then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[3])
redis.call('HDEL', KEYS[4], ARGV[1])
return 1
