-- Adds points to a day of past points.
local function withPoints(past, day, points, today)
  local others, sum = '', points
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do
    if d + 0 == day + 0 then sum = sum + p
    elseif d + 0 >= today - 3 then others = others .. d .. ',' .. p .. ';' end
  end
  return sum > 0 and others .. format('%.0f,%.0f;', day, sum) or others
end

-- How long a quota lasts: until its steady windows end, and the ledger has its day. Only the counters have
-- the day on which months begin, so that another than the first keeps them for a hundred years.
local function lifetime(counters)
  if counters.from + 0 ~= 1 then return 36500 * dayMs end
  local lasts = (counters.day + 4) * dayMs - now
  for _, window in ipairs(steady) do
    local _, following = numberAt(window, now, counters.from)
    lasts = math.max(lasts, following * window.unitMs - now)
  end
  return lasts
end
