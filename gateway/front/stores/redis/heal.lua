-- Takes the larger of the stored counters and those that a gateway has seen: Redis may have lost writes. Returns whether
-- those seen are of an earlier generation, whether they changed the counters, and whether they are of a later generation.
--include parts.lua
local function heal(hash, counters, seen)
  local newer = seen.generation - counters.generation
  if newer < 0 then return true, false, false end
  if newer > 0 then
    counters.generation = seen.generation
    empty(counters)
    setMonthFrom(counters, seen.from)
    forgetParts(hash)
  end
  return false, takeLarger(counters, seen) or newer > 0, newer > 0
end
