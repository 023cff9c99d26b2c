-- The counters of a quota and their rules, as in gateway/front/limits/{counters,recount,past-points}.ts.
--
-- The field c: "total,generation,monthFrom,day", then for each window ",number within the day,base,back", brief windows
--              last and only if they are counted, then ",k" if there are fields of keys. A base is the total when its window
--              began: of the shortest as it is, and of others how much less it was
--
-- Its parts stay texts until arithmetic needs a number. By callgrind, in instructions: a text to a number by tonumber
-- 1,800, by arithmetic 800; a number to a text 3,000, by format 1,900; an argument 1,400.
--include windows
local dayMs = 86400000
local dayWindow = windowNamed.day
local shortest = steady[1]

-- The number of the window that runs at a time, and of the one after it. A script knows no calendar, so that the gateway tells
-- the first days of the months that may be meant.
local function numberAt(window, time, from)
  local length, unit = window.lengthMs, window.unitMs
  if length > 0 then
    local number = (time - (time - window.firstMs) % length) / unit
    return number, number + length / unit
  end
  local day, number = floor(time / dayMs), nil
  for first in string.gmatch(sub(ARGV[1], (find(ARGV[1], ';', 1, true))), '%d+') do
    local begins = first + from - 1
    if begins > day then return number or begins, begins end
    number = begins
  end
  return number, number
end

local function numberOf(counters, window)
  return counters[window.at] and counters.day * window.inADay + counters[window.at] or 0
end

local function usedIn(counters, window)
  local at = window.at
  if not counters[at] then return 0 end
  return counters.total - counters[at + 1] - counters[at + 2]
end

local function newCounters()
  local counters = { total = 0, generation = 0, from = 1, day = 0, mark = '' }
  for _, window in ipairs(steady) do
    counters[window.at], counters[window.at + 1], counters[window.at + 2] = 0, 0, 0
  end
  return counters
end

local function countersFrom(text)
  local counters = { match(text, fields) }
  if not counters[1] then counters = { match(text, briefFields) } end
  if not counters[1] then error('these are no counters') end
  local last = #counters
  local behind = counters[last - 1]
  counters.rest, counters.mark = sub(text, counters[2], behind - 1), counters[last]
  counters.total, counters.generation, counters.from, counters.day =
    counters[1], counters[3], counters[4], counters[5]
  counters[last], counters[last - 1] = nil, nil
  local base = shortest.at + 1
  for i = base + 3, last - 2, 3 do counters[i] = counters[base] - counters[i] end
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
        local base = counters[at + 1]
        if window ~= shortest then base = counters[shortest.at + 1] - base end
        text = text .. format(',%.0f,%.0f,%.0f', counters[at], base, counters[at + 2])
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

-- Begins new windows where the old ones have ended. Returns the day that has ended, its points, whether a month has, and
-- whether a brief window has begun.
local function roll(counters, countsBrief)
  local day, points, isNewMonth, isNewBrief
  if not runs(counters, shortest) then
    local before, ofDay = numberOf(counters, dayWindow), usedIn(counters, dayWindow)
    counters.rest = nil
    local numbers = {}
    for _, window in ipairs(brief) do numbers[window] = counters[window.at] and numberOf(counters, window) end
    for _, window in ipairs(steady) do
      local isRunning, number = runs(counters, window)
      numbers[window] = isRunning and numberOf(counters, window) or number
      if not isRunning then
        counters[window.at + 1], counters[window.at + 2] = counters.total, 0
        if window == steady[#steady] then isNewMonth = true end
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
        counters.rest, isNewBrief = nil, true
        counters[window.at] = number - counters.day * window.inADay
        counters[window.at + 1], counters[window.at + 2] = counters.total, 0
      end
    end
  end
  return day, points, isNewMonth, isNewBrief
end
