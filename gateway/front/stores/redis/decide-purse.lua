-- The part of quota-more.lua that its questions with a prepaid window need.
--include purse.lua

-- The purse of a question; the limit of its window becomes what was used in it, with all that is left.
local function boughtIn(hash, counters, question, granted, isSeenOld)
  if purseAsked == '' then return nil end
  local at, included, seen, seenTaken = match(purseAsked, '^(%d+)|(%d+)|([^|]*)|(.*)$')
  local purse, window = purseOf(hash, counters, seen, seenTaken, isSeenOld), windows[at + 0]
  local more = granted[window.name] or 0
  purse.room = roomIn(purse, counters, window, included + more)
  question[at + 1] = usedIn(counters, window) + purse.room + max(0, purse.bought - purse.spent) - more
  return purse
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
