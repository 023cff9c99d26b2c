-- Takes a place for a holder, keeps it, or frees it (without an about).
-- Answers the about of another holder, if one has it; else ''.
-- KEYS: the place
-- ARGV: the holder, its about, how long the place is kept
local place = KEYS[1]
local holder, about = ARGV[1], ARGV[2]
local held = redis.call('GET', place)
local isOwn = held and held:sub(1, #holder + 1) == holder .. ' '
if held and not isOwn then return about == '' and '' or held:sub(held:find(' ', 1, true) + 1) end
if about == '' then
  redis.call('DEL', place)
else
  redis.call('SET', place, holder .. ' ' .. about, 'PX', ARGV[3])
end
return ''
