-- The parts of a quota: operations, caps and what was taken of its purse, each with counters in a field of its own, as in gateway/front/limits/parts.ts.
--include recount.lua

local function partOf(hash, name, counters, countsBrief)
  local text = call('HGET', hash, name)
  local part = text and countersFrom(text) or newCounters()
  setMonthFrom(part, counters.from)
  roll(part, countsBrief)
  return part
end

-- Whether all windows have ended for a day: none runs again where a clock is set back.
local function isOver(part)
  for _, window in ipairs(steady) do
    if numberOf(part, window) >= numberAt(window, now - dayMs, part.from) then return false end
  end
  return true
end

-- Forgets all parts, because an operator has reset the quota; or those that are over.
local function forgetParts(hash, isOnlyOver)
  for _, field in ipairs(call('HKEYS', hash)) do
    if match(field, '^op:') or match(field, '^cap:') or field == 'pre:taken' then
      if not isOnlyOver or isOver(countersFrom(call('HGET', hash, field))) then call('HDEL', hash, field) end
    end
  end
end
