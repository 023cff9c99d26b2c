-- Answers the time, and then name and text of documents of a folder, as far as they haven't ended. A text is the version, the
-- end, and behind a line break the body.
-- KEYS: the folder   ARGV: the time, see now.lua; 'take' takes them away; how long ended ones are remembered; names, or none for all
--include now.lua
local answer = { now }
local function read(name, text)
  local untilMs = tonumber((text or ''):match('^%d+ (%d+)\n')) or 0
  if untilMs > now then
    answer[#answer + 1] = name
    answer[#answer + 1] = text
  end
  if ARGV[2] == 'take' or untilMs + ARGV[3] <= now then redis.call('HDEL', KEYS[1], name) end
end

for i = 4, #ARGV do read(ARGV[i], redis.call('HGET', KEYS[1], ARGV[i])) end
if #ARGV == 3 then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do read(all[i], all[i + 1]) end
end
return answer
