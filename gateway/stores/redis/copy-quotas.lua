-- Puts quotas; of one that is there, the larger counts, as gateway/stores/merge.ts says. For the fields see quota.lua.
-- KEYS: the quotas' hashes   ARGV: for each: counters, until when it is kept in milliseconds, n, n fields and values
local fields = '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)'
local function numbers(counters)
  local m, mu, d, du, db, g = string.match(counters, fields)
  return tonumber(m), tonumber(mu), tonumber(d), tonumber(du), tonumber(db), tonumber(g)
end

local function isWorse(field, given, kept)
  if string.sub(field, 1, 2) == 's:' then return tonumber(given) > tonumber(kept) end
  local _, until1, _, strikes1 = string.match(given, '^(%d+),(%d+),(%d+),(%d*)$')
  local _, until2, _, strikes2 = string.match(kept, '^(%d+),(%d+),(%d+),(%d*)$')
  if not until2 or tonumber(until1) ~= tonumber(until2) then
    return not until2 or tonumber(until1) > tonumber(until2)
  end
  return #strikes1 > #strikes2
end

local at = 1
for _, hash in ipairs(KEYS) do
  local minute, minuteUsed, day, dayUsed, givenBack, generation = numbers(ARGV[at])
  local keepUntil, n = ARGV[at + 1], tonumber(ARGV[at + 2])
  local kept = redis.call('HGET', hash, 'c')
  local isOlder = false
  if kept and string.match(kept, fields) then
    local m, mu, d, du, db, g = numbers(kept)
    isOlder = generation < g
    if generation > g then
      for _, field in ipairs(redis.call('HKEYS', hash)) do
        if string.sub(field, 1, 2) == 'k:' then redis.call('HDEL', hash, field) end
      end
    elseif generation == g then
      if m > minute then minute, minuteUsed = m, mu
      elseif m == minute then minuteUsed = math.max(minuteUsed, mu) end
      if d > day then day, dayUsed, givenBack = d, du, db
      elseif d == day then dayUsed, givenBack = math.max(dayUsed, du), math.max(givenBack, db) end
    end
  end
  if not isOlder then
    local mark = kept and string.match(kept, ',k$') or ''
    for i = at + 3, at + 2 + 2 * n, 2 do
      local known = redis.call('HGET', hash, ARGV[i])
      if not known or isWorse(ARGV[i], ARGV[i + 1], known) then redis.call('HSET', hash, ARGV[i], ARGV[i + 1]) end
      if string.sub(ARGV[i], 1, 2) == 'k:' then mark = ',k' end
    end
    redis.call('HSET', hash, 'c', string.format('%.0f,%.0f,%.0f,%.0f,%.0f,%.0f',
      minute, minuteUsed, day, dayUsed, givenBack, generation) .. mark)
    local time = redis.call('TIME')
    local left = tonumber(keepUntil) - time[1] * 1000
    if redis.call('PTTL', hash) < left then redis.call('PEXPIRE', hash, math.ceil(left)) end
  end
  at = at + 3 + 2 * n
end
