-- Puts a document, see documents-read.lua. Answers whether it did.
-- KEYS: the folder   ARGV: the time, see now.lua; the name, the version that must be there or '', how long it is kept, its body
--include now.lua
local version, untilMs = (redis.call('HGET', KEYS[1], ARGV[2]) or ''):match('^(%d+) (%d+)\n')
local present = version and tonumber(untilMs) > now and version or '0'
if ARGV[3] ~= '' and ARGV[3] ~= present then return 0 end
local head = string.format('%.0f %.0f\n', (version or 0) + 1, now + ARGV[4])
redis.call('HSET', KEYS[1], ARGV[2], head .. ARGV[5])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1
