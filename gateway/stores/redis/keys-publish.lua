-- Makes the keys of an import seen, all at once: 1, or 0 if it does not hold its lock any more.
-- KEYS: pending, lock   ARGV: whose import
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1])
redis.call('DEL', KEYS[2])
return 1
