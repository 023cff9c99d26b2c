-- The parts of a quota: operations and caps, each with counters in a field of its own, as in gateway/front/limits/parts.ts.
--include recount.lua

local function partOf(hash, name, counters, countsBrief)
  local text = call('HGET', hash, name)
  local part = text and countersFrom(text) or newCounters()
  setMonthFrom(part, counters.from)
  roll(part, countsBrief)
  return part
end

-- All windows of parts have ended, or an operator has reset the quota.
local function forgetParts(hash)
  for _, field in ipairs(call('HKEYS', hash)) do
    if match(field, '^op:') or match(field, '^cap:') then call('HDEL', hash, field) end
  end
end
