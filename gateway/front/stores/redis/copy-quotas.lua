-- Puts quotas. Of a stored one the larger counts win, as in gateway/front/stores/merge.ts. For the fields see quota.lua.
-- KEYS: the quotas' hashes   ARGV: for each: counters, the time until which it is kept, in milliseconds, n, n fields and values
local fields = '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)'
local function numbers(counters)
  local m, mu, d, du, db, g = string.match(counters, fields)
  return tonumber(m), tonumber(mu), tonumber(d), tonumber(du), tonumber(db), tonumber(g)
end

local function isWorse(field, given, stored)
  if string.sub(field, 1, 2) == 's:' then return tonumber(given) > tonumber(stored) end
  local _, until1, _, strikes1 = string.match(given, '^(%d+),(%d+),(%d+),(%d*)$')
  local _, until2, _, strikes2 = string.match(stored, '^(%d+),(%d+),(%d+),(%d*)$')
  if not until2 or tonumber(until1) ~= tonumber(until2) then
    return not until2 or tonumber(until1) > tonumber(until2)
  end
  return #strikes1 > #strikes2
end

-- Of grants those of the later day, or the more of one day; each is a line that begins with its day.
local function areMore(given, stored)
  if not stored then return true end
  local day1, day2 = tonumber(string.match(given, '^%d+')), tonumber(string.match(stored, '^%d+'))
  if day1 ~= day2 then return day1 > day2 end
  local _, lines1 = string.gsub(given, '\n', '')
  local _, lines2 = string.gsub(stored, '\n', '')
  return lines1 > lines2
end

-- Adds the points of each day of a quota to a table: of two quotas the larger sum of each day stays.
local function noteDays(most, past, counted, points)
  local sums = { [counted] = points }
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do sums[tonumber(d)] = (sums[tonumber(d)] or 0) + p end
  for d, sum in pairs(sums) do most[d] = math.max(most[d] or 0, sum) end
end

local at = 1
for _, hash in ipairs(KEYS) do
  local minute, minuteUsed, day, dayUsed, givenBack, generation = numbers(ARGV[at])
  local keepUntil, n = ARGV[at + 1], tonumber(ARGV[at + 2])
  local stored = redis.call('HGET', hash, 'c')
  local isOlder = false
  local most, givenPast = {}, nil
  local givenDay, givenPoints = day, dayUsed - givenBack
  if stored and string.match(stored, fields) then
    local m, mu, d, du, db, g = numbers(stored)
    local storedPoints, areAlike = du - db, generation == g and day == d
    if generation < g then
      isOlder = true
      minute, minuteUsed, day, dayUsed, givenBack, generation = m, mu, d, du, db, g
    elseif generation > g then
      for _, field in ipairs(redis.call('HKEYS', hash)) do
        if string.sub(field, 1, 2) == 'k:' then redis.call('HDEL', hash, field) end
      end
    else
      if m > minute then minute, minuteUsed = m, mu
      elseif m == minute then minuteUsed = math.max(minuteUsed, mu) end
      if d > day then day, dayUsed, givenBack = d, du, db
      elseif d == day then dayUsed, givenBack = math.max(dayUsed, du), math.max(givenBack, db) end
    end
    if areAlike then storedPoints, givenPoints = dayUsed - givenBack, dayUsed - givenBack end
    noteDays(most, redis.call('HGET', hash, 'p'), d, storedPoints)
  end
  local mark = stored and string.match(stored, ',k$') or ''
  -- A reset leaves grants as they are, so that an older generation may have more of them.
  local sums, grants
  for i = at + 3, at + 2 + 2 * n, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if field == 'g' then sums = value
    elseif field == 'n' then grants = value
    elseif field == 'p' then givenPast = value
    elseif not isOlder then
      local present = redis.call('HGET', hash, field)
      if not present or isWorse(field, value, present) then redis.call('HSET', hash, field, value) end
      if string.sub(field, 1, 2) ~= 's:' then mark = ',k' end
    end
  end
  if grants and areMore(grants, redis.call('HGET', hash, 'n')) then
    redis.call('HSET', hash, 'g', sums, 'n', grants)
    mark = ',k'
  end
  -- The points that the counters don't have.
  noteDays(most, givenPast, givenDay, givenPoints)
  most[day] = (most[day] or 0) - (dayUsed - givenBack)
  local days, past = {}, ''
  for d, points in pairs(most) do
    if points > 0 and d >= day - 3 then days[#days + 1] = d end
  end
  table.sort(days)
  for _, d in ipairs(days) do past = past .. string.format('%.0f,%.0f;', d, most[d]) end
  if past ~= '' then redis.call('HSET', hash, 'p', past) else redis.call('HDEL', hash, 'p') end
  redis.call('HSET', hash, 'c', string.format('%.0f,%.0f,%.0f,%.0f,%.0f,%.0f',
    minute, minuteUsed, day, dayUsed, givenBack, generation) .. mark)
  local time = redis.call('TIME')
  local left = tonumber(keepUntil) - time[1] * 1000
  if redis.call('PTTL', hash) < left then redis.call('PEXPIRE', hash, math.ceil(left)) end
  at = at + 3 + 2 * n
end
