-- Points beyond those that are included, as in gateway/front/limits/beyond.ts. For the field b see quota.lua.
--include past.lua

local function pointsIn(past, day)
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do
    if d + 0 == day then return p + 0 end
  end
  return 0
end

-- Limits of each window with the points that were granted to it; -1 is unlimited.
local function withGranted(limits, granted)
  local i = 0
  return (string.gsub(limits, '[^,]+', function(limit)
    i = i + 1
    local more = granted[windows[i].name]
    return more and limit ~= '-1' and format('%.0f', limit + more) or limit
  end))
end

-- Of points of windows that may have ended since. Where the count of a window is gone, the points before them tell.
local function laterBeyond(counters, counted, points, limits, before, past)
  local day, i, beyond = numberOf(counted, dayWindow), 0, 0
  for limit in string.gmatch(limits, '[^,]+') do
    i = i + 1
    local window = windows[i]
    if limit ~= '-1' then
      local over = pointsIn(before, day) > 0 and points or 0
      if numberOf(counters, window) == numberOf(counted, window) then over = usedIn(counters, window) - limit
      elseif window == dayWindow then over = pointsIn(past, day) - limit end
      beyond = math.max(beyond, math.min(points, over))
    end
  end
  return beyond
end

-- Notes points beyond what was included, or takes some back.
local function noteBeyondPoints(hash, counters, counted, points, before)
  if points == 0 then return end
  if before == nil then before = call('HGET', hash, 'b') end
  if points < 0 and not before then return end
  call('HSET', hash, 'b', withPoints(before, numberOf(counted, dayWindow), points, counters.day))
end

-- Notes points that were counted, or have come back to their day if they are below 0. What was beyond comes back first.
local function noteBeyond(hash, counters, counted, points, limits, past)
  if points == 0 or points > 0 and not limits then return end
  local before = call('HGET', hash, 'b')
  local beyond = points < 0 and points or laterBeyond(counters, counted, points, limits, before, past)
  noteBeyondPoints(hash, counters, counted, beyond, before)
end
