-- Closes a day of the ledger, unless it is closed: its chunks by their numbers, and n, the number of chunks.
-- KEYS: the day   ARGV: seconds to keep it, then the chunks
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'n', #ARGV - 1)
for i = 2, #ARGV do redis.call('HSET', KEYS[1], i - 2, ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
