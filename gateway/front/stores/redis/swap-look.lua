-- Tells where a swap stands, and takes the counts of one process.
-- Answers the time, the version, the course, and the counts of all processes.
-- KEYS: the swap; its counts
-- ARGV: how long it is kept; the process, its round and its counts, all three or none
local swap, counts = KEYS[1], KEYS[2]
local stored = redis.call('HMGET', swap, 'version', 'round', 'course')
if stored[1] then
  if ARGV[2] and stored[2] == ARGV[3] then
    redis.call('HSET', counts, ARGV[2], ARGV[4])
    redis.call('PEXPIRE', counts, ARGV[1])
  end
  redis.call('PEXPIRE', swap, ARGV[1])
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return { now, stored[1] or '0', stored[3] or '', redis.call('HVALS', counts) }
