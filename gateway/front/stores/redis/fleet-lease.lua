-- Takes a lease for a holder, keeps it, or frees it (without an about).
-- Answers the about of another holder, if one has it; else ''.
-- KEYS: the lease
-- ARGV: the holder, its about, how long the lease is kept
local lease = KEYS[1]
local holder, about = ARGV[1], ARGV[2]
local held = redis.call('GET', lease)
local isOwn = held and held:sub(1, #holder + 1) == holder .. ' '
if held and not isOwn then return about == '' and '' or held:sub(held:find(' ', 1, true) + 1) end
if about == '' then
  redis.call('DEL', lease)
else
  redis.call('SET', lease, holder .. ' ' .. about, 'PX', ARGV[3])
end
return ''
