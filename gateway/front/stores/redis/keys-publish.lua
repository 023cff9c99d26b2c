-- Makes the keys of an import visible, all at once. Answers 1, or 0 if it doesn't hold its lock any more.
-- KEYS: pending, lock   ARGV: the owner of the lock
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1])
redis.call('DEL', KEYS[2])
return 1
