-- Adds refusals to the timeline of a key.
-- ARGV from the fourth on: the first hour that is kept, the most lines; then for each line: hour, "minute code reason",
--       count, limit, used
-- Fields: an hour since 1970: its lines, each ";minute code reason count limit used"
-- No gateway refuses a key for this many reasons within an hour; it bounds what a call reads and writes.
--include count-space.lua
local longest = 16384
local isNewHour, latest = false, 0
for i = 6, #ARGV, 5 do
  local hour, what = ARGV[i], ';' .. ARGV[i + 1] .. ' '
  local count, limit, used = ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  latest = math.max(latest, tonumber(hour))
  local lines = redis.call('HGET', hash, hour)
  if not lines then isNewHour, lines = true, '' end
  local from, to = string.find(lines, what, 1, true)
  if from then
    local before, _, usedBefore, rest = string.match(lines, '^(%d+) (%d+) (%d+)()', to + 1)
    used = math.max(tonumber(used), tonumber(usedBefore))
    lines = string.sub(lines, 1, to)
      .. string.format('%.0f %s %.0f', before + count, limit, used) .. string.sub(lines, rest)
  elseif #lines < longest then
    lines = lines .. what .. count .. ' ' .. limit .. ' ' .. used
  end
  redis.call('HSET', hash, hour, lines)
end

-- Once an hour: forgets what is too old or too much, and what other gateways have left.
if isNewHour then
  local hours, linesOf = {}, {}
  local all = redis.call('HGETALL', hash)
  for i = 1, #all, 2 do
    local hour = tonumber(all[i])
    if not hour then
      forgetOld(all[i], all[i + 1], latest)
    elseif hour < tonumber(ARGV[4]) then
      redis.call('HDEL', hash, all[i])
    else
      hours[#hours + 1] = hour
      local _, lines = string.gsub(all[i + 1], ';', '')
      linesOf[hour] = lines
    end
  end
  table.sort(hours, function(a, b) return a > b end)
  local sum = 0
  for _, hour in ipairs(hours) do
    -- The oldest hour that is kept may have more lines than are told; those are left out when they are read.
    if sum >= tonumber(ARGV[5]) then redis.call('HDEL', hash, string.format('%.0f', hour)) end
    sum = sum + linesOf[hour]
  end
end
return added(latest)
