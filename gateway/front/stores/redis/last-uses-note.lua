-- Notes uses of tokens: of each token the later time stays, of each key the latest tokens.
-- KEYS: the hash of last uses
-- ARGV: the time, see now.lua; the time of the gateway; the most tokens of a key; '1' if uses are
--       noted from now on, '' for those of another store; then for each use: key, mark of the token, time by
--       the gateway's clock
--include now.lua
local late = now - ARGV[2]
if ARGV[4] == '1' then redis.call('HSETNX', KEYS[1], '', 'since ' .. string.format('%.0f', now)) end

for i = 5, #ARGV, 3 do
  local key, mark, at = ARGV[i], ARGV[i + 1], ARGV[i + 2] + late
  local stored = redis.call('HGET', KEYS[1], key) or ''
  local uses = {}
  for other, time in stored:gmatch('(%S+) (%d+)') do
    if other == mark then at = math.max(at, tonumber(time)) else uses[#uses + 1] = { other, tonumber(time) } end
  end
  uses[#uses + 1] = { mark, at }
  table.sort(uses, function(a, b) return a[2] > b[2] end)
  local parts = {}
  for n = 1, math.min(#uses, tonumber(ARGV[3])) do
    parts[n] = uses[n][1] .. ' ' .. string.format('%.0f', uses[n][2])
  end
  local text = table.concat(parts, ' ')
  if text ~= stored then redis.call('HSET', KEYS[1], key, text) end
end
