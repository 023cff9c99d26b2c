-- Adds entries to a list, and removes what is too old. Behind the entries with a key, their places are noted: the short hash of
-- the key, and the two numbers of the entry's id, see lists.ts. The field of an entry is its key.
-- KEYS: the list, the places   ARGV: the time, see now.lua; the most entries, how long they are kept or 0; and of each entry the
--       hash of its key or '', its key, its body
--include now.lua
local most, keptMs = tonumber(ARGV[2]), tonumber(ARGV[3])
local time = ARGV[1] == '' and '*' or ARGV[1] .. '-*'
for i = 4, #ARGV, 3 do
  local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', most, time, ARGV[i + 1], ARGV[i + 2])
  local ms, number = id:match('^(%d+)-(%d+)$')
  if ARGV[i] ~= '' then
    redis.call('APPEND', KEYS[2], ARGV[i] .. struct.pack('>I6I2', ms, number))
  end
end
if keptMs > 0 then redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', now - keptMs)) end
if redis.call('STRLEN', KEYS[2]) > 15 * most then
  redis.call('SET', KEYS[2], redis.call('GETRANGE', KEYS[2], -12 * most, -1))
end
