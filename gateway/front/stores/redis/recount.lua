-- Changes of counters beside admissions and ended windows, as in gateway/front/limits/recount.ts.
local max, min = math.max, math.min

local function countedIn(counters, window)
  return counters[window.at] and counters.total - counters[window.at + 1] or 0
end

local function backIn(counters, window)
  return counters[window.at + 2] or 0
end

local function setMark(counters, window, number, counted, back)
  counters[window.at] = number - counters.day * window.inADay
  counters[window.at + 1] = counters.total - counted
  counters[window.at + 2] = back
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
