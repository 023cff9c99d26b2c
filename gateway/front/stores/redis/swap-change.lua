-- Puts another course in place of the version that was seen; counts of another round are dropped.
-- KEYS: the swap; its counts
-- ARGV: how long it is kept; the version that was seen; the round and the text of the course
local swap, counts = KEYS[1], KEYS[2]
local stored = redis.call('HMGET', swap, 'version', 'round')
if (stored[1] or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', swap, 'version', ARGV[2] + 1, 'round', ARGV[3], 'course', ARGV[4])
redis.call('PEXPIRE', swap, ARGV[1])
if stored[2] ~= ARGV[3] then redis.call('DEL', counts) end
return 1
