-- Run by Redis: one request is counted in its minute and its day, or in neither.
-- KEYS: ban, minute, day. ARGV: the limits of minute and day, the seconds until each ends.
-- Gives 0 for admitted, 1 for a full minute, 2 for a full day, 3 for a ban; what was used; a ban's rest.
local ban, minute, day = unpack(redis.call('MGET', KEYS[1], KEYS[2], KEYS[3]))
minute, day = tonumber(minute or 0), tonumber(day or 0)
if ban then return { 3, minute, day, redis.call('TTL', KEYS[1]) } end
if minute >= tonumber(ARGV[1]) then return { 1, minute, day, 0 } end
if day >= tonumber(ARGV[2]) then return { 2, minute, day, 0 } end
if redis.call('INCR', KEYS[2]) == 1 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
if redis.call('INCR', KEYS[3]) == 1 then redis.call('EXPIRE', KEYS[3], ARGV[4]) end
return { 0, minute + 1, day + 1, 0 }
