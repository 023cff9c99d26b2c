-- Puts quotas. Of a stored one the larger counts win, as in gateway/stores/merge.ts. For the fields see quota.lua.
-- KEYS: the quotas' hashes   ARGV: for each: counters, the time until which it is kept, in milliseconds, n, n fields and values
local fields = '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)'
local function numbers(counters)
  local m, mu, d, du, db, g = string.match(counters, fields)
  return tonumber(m), tonumber(mu), tonumber(d), tonumber(du), tonumber(db), tonumber(g)
end

local function isWorse(field, given, stored)
  -- Grants: the later day, or more of one day. Both fields begin with the day.
  if field == 'g' or field == 'n' then
    local given1, stored1 = tonumber(string.match(given, '^%d+')), tonumber(string.match(stored, '^%d+'))
    return given1 > stored1 or given1 == stored1 and #given > #stored
  end
  if string.sub(field, 1, 2) == 's:' then return tonumber(given) > tonumber(stored) end
  local _, until1, _, strikes1 = string.match(given, '^(%d+),(%d+),(%d+),(%d*)$')
  local _, until2, _, strikes2 = string.match(stored, '^(%d+),(%d+),(%d+),(%d*)$')
  if not until2 or tonumber(until1) ~= tonumber(until2) then
    return not until2 or tonumber(until1) > tonumber(until2)
  end
  return #strikes1 > #strikes2
end

local at = 1
for _, hash in ipairs(KEYS) do
  local minute, minuteUsed, day, dayUsed, givenBack, generation = numbers(ARGV[at])
  local keepUntil, n = ARGV[at + 1], tonumber(ARGV[at + 2])
  local stored = redis.call('HGET', hash, 'c')
  local isOlder = false
  if stored and string.match(stored, fields) then
    local m, mu, d, du, db, g = numbers(stored)
    isOlder = generation < g
    if generation > g then
      for _, field in ipairs(redis.call('HKEYS', hash)) do
        if string.sub(field, 1, 2) == 'k:' or field == 'g' or field == 'n' then
          redis.call('HDEL', hash, field)
        end
      end
    elseif generation == g then
      if m > minute then minute, minuteUsed = m, mu
      elseif m == minute then minuteUsed = math.max(minuteUsed, mu) end
      if d > day then day, dayUsed, givenBack = d, du, db
      elseif d == day then dayUsed, givenBack = math.max(dayUsed, du), math.max(givenBack, db) end
    end
  end
  if not isOlder then
    local mark = stored and string.match(stored, ',k$') or ''
    for i = at + 3, at + 2 + 2 * n, 2 do
      local present = redis.call('HGET', hash, ARGV[i])
      if not present or isWorse(ARGV[i], ARGV[i + 1], present) then redis.call('HSET', hash, ARGV[i], ARGV[i + 1]) end
      if string.sub(ARGV[i], 1, 2) ~= 's:' then mark = ',k' end
    end
    redis.call('HSET', hash, 'c', string.format('%.0f,%.0f,%.0f,%.0f,%.0f,%.0f',
      minute, minuteUsed, day, dayUsed, givenBack, generation) .. mark)
    local time = redis.call('TIME')
    local left = tonumber(keepUntil) - time[1] * 1000
    if redis.call('PTTL', hash) < left then redis.call('PEXPIRE', hash, math.ceil(left)) end
  end
  at = at + 3 + 2 * n
end
