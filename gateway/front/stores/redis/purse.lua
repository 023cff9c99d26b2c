-- Points that were bought in advance, as in gateway/front/limits/purse.ts.
-- Fields: u: "bought,spent,topUps,last"; pre:taken: the counters of the points that were taken; z: see top-up in quota-edit.lua
--include beyond.lua
--include parts.lua

-- A purse is kept, whoever uses it.
local purseLastsMs = 36500 * dayMs

local function purseFrom(text)
  local bought, spent, topUps, last = match(text or '', '^(%d+),(%d+),(%d+),(%d+)$')
  return { bought = (bought or 0) + 0, spent = (spent or 0) + 0, topUps = (topUps or 0) + 0, last = (last or 0) + 0 }
end

local function textOfPurse(purse)
  return format('%.0f,%.0f,%.0f,%.0f', purse.bought, purse.spent, purse.topUps, purse.last)
end

local function keepPurse(hash, purse)
  call('HSET', hash, 'u', textOfPurse(purse))
end

-- Points below 0 come in.
local function pay(purse, points)
  if points > 0 then purse.spent = purse.spent + points else purse.bought = purse.bought - points end
end

-- The purse of a quota and what was taken of it, with the larger ones that a gateway has seen.
local function purseOf(hash, counters, seen, seenTaken, isSeenOld)
  local stored = call('HGET', hash, 'u')
  local purse, other = purseFrom(stored), purseFrom(seen)
  if other.topUps > purse.topUps then purse.topUps, purse.last = other.topUps, other.last end
  purse.bought, purse.spent = max(purse.bought, other.bought), max(purse.spent, other.spent)
  purse.isKnown = stored or seen ~= ''
  purse.isHealed = purse.isKnown and textOfPurse(purse) ~= stored
  if purse.isHealed then
    keepPurse(hash, purse)
    call('PEXPIRE', hash, purseLastsMs)
  end
  purse.taken = partOf(hash, 'pre:taken', counters, false)
  if seenTaken ~= '' and not isSeenOld then
    local before = usedIn(purse.taken, dayWindow)
    if takeLarger(purse.taken, countersFrom(seenTaken)) then
      call('HSET', hash, 'pre:taken', textOf(purse.taken))
      noteBeyondPoints(hash, counters, counters, usedIn(purse.taken, dayWindow) - before)
    end
  end
  return purse
end

-- The bought points that were taken in the window that the counters are in: the part may not have begun it.
local function takenIn(purse, counters, window)
  return numberOf(purse.taken, window) == numberOf(counters, window) and usedIn(purse.taken, window) or 0
end

-- The included points that are left.
local function roomIn(purse, counters, window, included)
  return max(0, included - max(0, usedIn(counters, window) - takenIn(purse, counters, window)))
end

-- Adds the bought points of a report to the purse; their counters are a part of it.
local function settlePurse(hash, purse, counters, report, taken)
  pay(purse, countedIn(taken, dayWindow))
  pay(purse, -backIn(taken, dayWindow))
  keepPurse(hash, purse)
  noteBeyondPoints(hash, counters, report, usedIn(taken, dayWindow))
end
