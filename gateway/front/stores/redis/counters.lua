-- The counters of a quota and their rules, as in gateway/front/limits/{counters,recount,past-points}.ts.
--
-- The field c: "total,generation,monthFrom,day", then for each window ",number within the day,base[,back]", brief windows
--              last and only if they are counted, then ",k" if there are fields of keys
--
-- Its parts stay texts until arithmetic needs a number. By callgrind, in instructions: a text to a number by tonumber
-- 1,800, by arithmetic 800; a number to a text 3,000, by format 1,900; an argument 1,400.
--include windows
local max, min = math.max, math.min
local dayMs = 86400000
local dayWindow = windowNamed.day
local shortest = steady[1]

-- The number of the window that runs at a time, and of the one after it. A month's is its first day: a script knows no
-- calendar, so that the gateway tells the first days of the months that may be meant.
local function numberAt(window, time, from)
  if window.lengthMs > 0 then
    local number = floor(time / window.lengthMs)
    return number, number + 1
  end
  local day, number = floor(time / dayMs), nil
  for first in string.gmatch(daysOfMonths, '%d+') do
    local begins = first + from - 1
    if begins > day then return number or begins, begins end
    number = begins
  end
  return number, number
end

local function numberOf(counters, window)
  return counters[window.at] and counters.day * window.inADay + counters[window.at] or 0
end

local function countedIn(counters, window)
  return counters[window.at] and counters.total - counters[window.at + 1] or 0
end

local function backIn(counters, window)
  return window.comesBack and counters[window.at + 2] or 0
end

local function usedIn(counters, window)
  return countedIn(counters, window) - backIn(counters, window)
end

local function setMark(counters, window, number, counted, back)
  counters[window.at] = number - counters.day * window.inADay
  counters[window.at + 1] = counters.total - counted
  if window.comesBack then counters[window.at + 2] = back end
end

-- Writes other counts into the windows: `count` returns a window's number, what it counted, and what came back.
local function recount(counters, count)
  local counts, total = {}, 0
  for _, some in ipairs({ steady, brief }) do
    for _, window in ipairs(some) do
      if counters[window.at] then
        local number, counted, back = count(window)
        counts[window] = { number, counted, back }
        total = max(total, counted)
      end
    end
  end
  counters.total, counters.rest = total, nil
  counters.day = counts[dayWindow][1]
  for window, c in pairs(counts) do setMark(counters, window, c[1], c[2], c[3]) end
end

local function newCounters()
  local counters = { total = 0, generation = 0, from = 1, day = 0, mark = '' }
  for _, window in ipairs(steady) do setMark(counters, window, 0, 0, 0) end
  return counters
end

-- Counters of format 1 knew a minute and a day: longer windows have counted what their latest part has.
local function formerCounters(text)
  local minute, ofMinute, day, ofDay, back, generation, mark =
    match(text, '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)(,?k?)$')
  if not minute then error('these are no counters') end
  local counters = newCounters()
  counters.generation, counters.mark, counters.isFormer = generation, mark, true
  recount(counters, function(window)
    if window.lengthMs > 0 and window.lengthMs < dayMs then
      return numberAt(window, minute * 60000), ofMinute + 0, 0
    end
    return numberAt(window, day * dayMs, 1), ofDay + 0, back + 0
  end)
  return counters
end

-- Grants of format 1 were "day,points,minute,points,words".
local function upgradeGrants(hash)
  local lines, sums = '', ''
  for line in string.gmatch(call('HGET', hash, 'n') or '', '[^\n]+') do
    local day, ofDay, minute, ofMinute, words = match(line, '^(%d+),(%d+),(%d+),(%d+),(.*)$')
    if day then
      lines = lines .. format('%.0f;minute:%s,day:%s,;', minute * 60000, ofMinute, ofDay) .. words .. '\n'
    end
  end
  local day, ofDay, minute, ofMinute =
    match(call('HGET', hash, 'g') or '', '^(%d+),(%d+),(%d+),(%d+)')
  if day then sums = 'minute:' .. minute .. ':' .. ofMinute .. ',day:' .. day .. ':' .. ofDay .. ',' end
  if lines ~= '' then call('HSET', hash, 'n', lines, 'g', sums) end
end

local function countersFrom(text)
  local counters = { match(text, fields) }
  if not counters[1] then counters = { match(text, briefFields) } end
  if not counters[1] then return formerCounters(text) end
  local last = #counters
  local behind = counters[last - 1]
  counters.rest, counters.mark = sub(text, counters[2], behind - 1), counters[last]
  counters.total, counters.generation, counters.from, counters.day =
    counters[1], counters[3], counters[4], counters[5]
  counters[last], counters[last - 1] = nil, nil
  return counters
end

-- The text without its mark ",k". Behind the total it changes only with the windows.
local function textOf(counters)
  if counters.rest then return format('%.0f', counters.total) .. counters.rest end
  local text = format('%.0f,%.0f,%.0f,%.0f',
    counters.total, counters.generation, counters.from, counters.day)
  for _, some in ipairs({ steady, brief }) do
    for _, window in ipairs(some) do
      local at = window.at
      if counters[at] then
        text = text .. format(',%.0f,%.0f', counters[at], counters[at + 1])
        if window.comesBack then text = text .. format(',%.0f', counters[at + 2]) end
      end
    end
  end
  return text
end

-- A clock that is set back by less than a window doesn't begin the earlier one again.
local function runs(counters, window)
  local number, following = numberAt(window, now, counters.from)
  local counted = numberOf(counters, window)
  return counted == number or counted == following, number
end

-- Begins new windows where the old ones have ended. Returns the day that has ended, and its points.
local function roll(counters, countsBrief)
  local day, points
  if not runs(counters, shortest) then
    local before, ofDay = numberOf(counters, dayWindow), usedIn(counters, dayWindow)
    counters.rest = nil
    local numbers = {}
    for _, window in ipairs(brief) do numbers[window] = counters[window.at] and numberOf(counters, window) end
    for _, window in ipairs(steady) do
      local isRunning, number = runs(counters, window)
      numbers[window] = isRunning and numberOf(counters, window) or number
      if not isRunning then
        counters[window.at + 1] = counters.total
        if window.comesBack then counters[window.at + 2] = 0 end
      end
    end
    counters.day = numbers[dayWindow]
    for window, number in pairs(numbers) do
      counters[window.at] = number - counters.day * window.inADay
    end
    if counters.day ~= before then day, points = before, ofDay end
  end
  if countsBrief then
    for _, window in ipairs(brief) do
      local isRunning, number = runs(counters, window)
      if not isRunning then
        counters.rest = nil
        setMark(counters, window, number, 0, 0)
      end
    end
  end
  return day, points
end

local function setMonthFrom(counters, from)
  if counters.from + 0 == from + 0 then return end
  counters.from, counters.rest = from, nil
  for _, window in ipairs(steady) do
    if window.lengthMs == 0 then setMark(counters, window, (numberAt(window, now, from)), 0, 0) end
  end
end

local function empty(counters)
  recount(counters, function(window) return numberOf(counters, window), 0, 0 end)
end

-- The counts of a window in the larger of two.
local function larger(counters, other, window)
  local number, counted, back =
    numberOf(counters, window), countedIn(counters, window), backIn(counters, window) + 0
  if number ~= numberOf(other, window) then return number, counted, back end
  return number, max(counted, countedIn(other, window)), max(back, backIn(other, window) + 0)
end

-- Takes the larger counts of windows of the same number; true if there were any.
local function takeLarger(counters, other)
  -- Mostly only the total differs.
  if counters.rest and counters.rest == other.rest then
    if other.total - counters.total <= 0 then return false end
    counters.total = other.total
    return true
  end
  local isBehind = false
  for _, window in ipairs(windows) do
    local _, counted, back = larger(counters, other, window)
    isBehind = isBehind or counted > countedIn(counters, window) or back > backIn(counters, window) + 0
  end
  if isBehind then
    recount(counters, function(window) return larger(counters, other, window) end)
  end
  return isBehind
end

-- Adds the points of a report to windows that still run.
local function addReport(counters, report)
  recount(counters, function(window)
    local number, counted, back =
      numberOf(counters, window), countedIn(counters, window), backIn(counters, window) + 0
    if number ~= numberOf(report, window) then return number, counted, back end
    counted = counted + countedIn(report, window)
    return number, counted, min(counted, back + backIn(report, window))
  end)
end

-- Adds points to a day of past points.
local function withPoints(past, day, points, today)
  local others, sum = '', points
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do
    if d + 0 == day + 0 then sum = sum + p
    elseif d + 0 >= today - 3 then others = others .. d .. ',' .. p .. ';' end
  end
  return sum > 0 and others .. format('%.0f,%.0f;', day, sum) or others
end

-- How long a quota lasts: until its steady windows end, and a caller's until the ledger has its day.
local function lifetime(counters, isOfCaller)
  local lasts = (counters.day + 1) * dayMs - now
  if not isOfCaller then return lasts end
  lasts = lasts + 3 * dayMs
  for _, window in ipairs(steady) do
    local _, following = numberAt(window, now, counters.from)
    lasts = max(lasts, following * (window.lengthMs > 0 and window.lengthMs or dayMs) - now)
  end
  return lasts
end
