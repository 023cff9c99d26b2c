-- Counters of format 1 that gateways of a former version write, too. Beside them, in the field w, are all windows as this
-- version has last written them, so that what the field c has more was counted by the former ones.
--include recount.lua
local function isOfFormer(window) return window == shortest or window == dayWindow end

-- The points that were counted since w was written, and those that came back.
local function countedSince(former, counters, past)
  local day, before = numberOf(former, dayWindow), numberOf(counters, dayWindow)
  local counted, back = countedIn(former, dayWindow), backIn(former, dayWindow)
  if day == before then
    return counted - countedIn(counters, dayWindow), back - backIn(counters, dayWindow)
  end
  counted = counted - usedIn(counters, dayWindow)
  for d, points in string.gmatch(past, '(%d+),(%d+);') do
    if d + 0 >= before and d + 0 < day then counted = counted + points end
  end
  return counted, back
end

-- The counters of a hash; nothing if there are only the former ones.
local function withLonger(hash, stored)
  local text, past = call('HGET', hash, 'w'), call('HGET', hash, 'p') or ''
  if not text then return nil end
  local counters = countersFrom(text)
  local former = countersFrom(stored, counters.from)
  -- A former version has reset the quota: the points of this day before it are past.
  local isNewer = former.generation - counters.generation > 0
  if isNewer and find(';' .. past, format(';%.0f,', numberOf(former, dayWindow)), 1, true) then return former end
  local counted, back = countedSince(former, counters, past)
  local before = {}
  for _, window in ipairs(windows) do
    before[window] = { numberOf(counters, window), countedIn(counters, window), backIn(counters, window) }
  end
  recount(counters, function(window)
    local number, ofWindow, backInWindow = unpack(before[window])
    backInWindow = backInWindow + 0
    -- Nobody knows in which second former gateways have counted.
    if not former[window.at] then return number, ofWindow, backInWindow end
    -- The former text has a minute's points without those that came back.
    if window == shortest and number == numberOf(former, window) then
      return number, countedIn(former, window) + backInWindow, backInWindow
    end
    -- If the clock was set back, the minute is the earlier one.
    local goesOn = number >= numberOf(former, window)
    if goesOn and not isOfFormer(window) then return number, ofWindow + counted, backInWindow + back end
    return numberOf(former, window), countedIn(former, window), backIn(former, window) + 0
  end)
  counters.generation, counters.mark, counters.isFormer = former.generation, former.mark, true
  return counters
end
