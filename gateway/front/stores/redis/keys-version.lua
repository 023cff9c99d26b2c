-- The latest version of keys, and the one below the next: versions follow the time, so that even a Redis that has lost writes
-- gives none twice.
local function versionsIn(name)
  local time = redis.call('TIME')
  local latest = tonumber(redis.call('GET', name) or 0)
  -- Another program's: above this, one more is the same number.
  if latest >= 2 ^ 53 then latest = 0 end
  return latest, math.max(latest, time[1] * 1000000 + time[2])
end
