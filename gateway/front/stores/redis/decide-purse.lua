-- The part of quota-more.lua that its questions with a prepaid window need.
--include purse.lua

-- The purse of a question, or of its report, with what its gateway has seen: a report adds to that.
local function purseAskedFor(hash, counters, isSeenOld)
  if purseAsked == '' then return nil end
  local at, included, seen, seenTaken = match(purseAsked, '^(%d+)|(%d+)|([^|]*)|(.*)$')
  return purseOf(hash, counters, seen, seenTaken, isSeenOld), at + 0, included
end

-- The limit of a prepaid window becomes what was used in it, with all that is left.
local function limitByPurse(purse, counters, window, included, granted)
  local more = granted[window.name] or 0
  purse.room = roomIn(purse, counters, window, included + more)
  return usedIn(counters, window) + purse.room + max(0, purse.bought - purse.spent) - more
end

-- Takes what isn't included of an admitted request, and answers.
local function takeBought(hash, counters, purse, cost)
  local took = max(0, cost - purse.room)
  if took > 0 then
    pay(purse, took)
    purse.taken.total = purse.taken.total + took
    keepPurse(hash, purse)
    call('HSET', hash, 'pre:taken', textOf(purse.taken))
    noteBeyondPoints(hash, counters, counters, took)
  end
  purseAnswer = textOfPurse(purse) .. format(',%.0f;', took) .. textOf(purse.taken) .. '@'
end
