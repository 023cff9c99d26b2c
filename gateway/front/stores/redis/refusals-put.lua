-- Puts a chunk of refused and failed answers, which Redis forgets by itself.
-- KEYS: the hash of the chunk   ARGV: its index, its answers, seconds to keep it
redis.call('HSET', KEYS[1], 'index', ARGV[1], 'answers', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
