-- Takes the larger of the stored counters and those that a gateway has seen: Redis may have lost writes. Returns whether
-- those seen are of an earlier generation, whether they changed the counters, whether they are of a later generation, and
-- the points of the day that were lost.
--include parts.lua
local function heal(hash, counters, seen)
  local newer = seen.generation - counters.generation
  if newer < 0 then return true, false, false, 0 end
  local before = usedIn(counters, dayWindow)
  if newer > 0 then
    counters.generation = seen.generation
    empty(counters)
    setMonthFrom(counters, seen.from)
    forgetParts(hash)
  end
  local isChanged = takeLarger(counters, seen)
  return false, isChanged or newer > 0, newer > 0, usedIn(counters, dayWindow) - before
end
