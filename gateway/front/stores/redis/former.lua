--include recount.lua

-- Counters of format 1 know a minute and a day, "minute,used,day,used,back,generation": longer windows have counted what
-- their latest part has.
local function formerCounters(text, from)
  local minute, ofMinute, day, ofDay, back, generation, mark =
    match(text, '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)(,?k?)$')
  if not minute then error('these are no counters') end
  local counters = newCounters()
  counters.generation, counters.mark, counters.from, counters.isFormer = generation, mark, from, true
  recount(counters, function(window)
    if window.lengthMs > 0 and window.lengthMs < dayMs then
      return numberAt(window, minute * 60000), ofMinute + 0, 0
    end
    return numberAt(window, day * dayMs, from), ofDay + 0, back + 0
  end)
  return counters
end
