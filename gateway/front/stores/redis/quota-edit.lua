-- Changes a quota for an operator, or gives points of an unanswered request back, in one step. For the
-- fields see quota.lua.
-- KEYS: the quota's hash   ARGV: the change, then for
--   giveBack: cost, day      reset: -      ban: key, until      lift: key
--   grant: points of the minute, of the day, the most grants, author and note as JSON
-- The last of ARGV is the time for tests, or ''.
local now = ARGV[#ARGV]
if now == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(now)
end
-- Adds points to a day of past points, as gateway/front/limits/past-points.ts does.
local function withPoints(past, day, points, today)
  local kept, sum = '', points
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do
    if d + 0 == day then sum = sum + p
    elseif d + 0 >= today - 3 then kept = kept .. d .. ',' .. p .. ';' end
  end
  return sum > 0 and kept .. string.format('%.0f,%.0f;', day, sum) or kept
end

local change = ARGV[1]
local stored = redis.call('HGET', KEYS[1], 'c') or '0,0,0,0,0,0'
local minute, minuteUsed, day, dayUsed, givenBack, generation, mark =
  string.match(stored, '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)(,?k?)$')

local function keep(used, usedOfDay, back, number)
  redis.call('HSET', KEYS[1], 'c', minute .. ',' .. used .. ',' .. day .. ',' .. usedOfDay
    .. ',' .. back .. ',' .. number .. mark)
end

local function keepPast(day, points)
  local past = redis.call('HGET', KEYS[1], 'p')
  if points > 0 or past then
    redis.call('HSET', KEYS[1], 'p', withPoints(past, tonumber(day), points, tonumber(day)))
  end
end

if change == 'giveBack' then
  local cost = tonumber(ARGV[2])
  local counted = day == ARGV[3] and math.min(cost, dayUsed - givenBack) or 0
  if counted > 0 then keep(minuteUsed, dayUsed, givenBack + counted, generation) end
  if cost > counted then keepPast(ARGV[3], counted - cost) end
  return counted
end

-- A generation that no gateway can have seen: counters seen before don't count any more.
local nextGeneration = math.max(generation + 1, now)

local function keepFor(milliseconds)
  if redis.call('PTTL', KEYS[1]) < milliseconds then
    redis.call('PEXPIRE', KEYS[1], milliseconds)
  end
end

-- A grant leaves the counters as they are, and so the generation.
if change == 'grant' then
  local thisMinute, thisDay = math.floor(now / 60000), math.floor(now / 86400000)
  -- A clock that is set back by less than a window doesn't begin the earlier one again.
  if tonumber(minute) == thisMinute + 1 then thisMinute = thisMinute + 1 end
  if tonumber(day) == thisDay + 1 then thisDay = thisDay + 1 end
  local ofMinute, ofDay = tonumber(ARGV[2]), tonumber(ARGV[3])
  local lines, count = '', 1
  for line in string.gmatch(redis.call('HGET', KEYS[1], 'n') or '', '[^\n]+') do
    local d, perDay, m, perMinute = string.match(line, '^(%d+),(%d+),(%d+),(%d+),')
    if tonumber(d) == thisDay then
      lines, count, ofDay = lines .. line .. '\n', count + 1, ofDay + perDay
      if tonumber(m) == thisMinute then ofMinute = ofMinute + perMinute end
    end
  end
  if count > tonumber(ARGV[4]) then return 0 end
  local own = string.format('%.0f,%s,%.0f,%s,', thisDay, ARGV[3], thisMinute, ARGV[2])
  redis.call('HSET', KEYS[1], 'n', lines .. own .. ARGV[5], 'g',
    string.format('%.0f,%.0f,%.0f,%.0f', thisDay, ofDay, thisMinute, ofMinute))
  mark = ',k'
  keep(minuteUsed, dayUsed, givenBack, generation)
  keepFor((thisDay + 1) * 86400000 - now)
  return 1
end

if change == 'reset' then
  if dayUsed ~= givenBack then keepPast(day, dayUsed - givenBack) end
  keep(0, 0, 0, nextGeneration)
  keepFor(2 * 86400000)
  return 1
end

if change == 'ban' then mark = ',k' end
keep(minuteUsed, dayUsed, givenBack, nextGeneration)
local field = 'k:' .. ARGV[2]
local conduct = redis.call('HGET', KEYS[1], field) or '0,0,0,'
local _, bannedUntil, bans = string.match(conduct, '^(%d+),(%d+),(%d+),')
if change == 'ban' then
  local untilMs = tonumber(ARGV[3])
  redis.call('HSET', KEYS[1], field, string.format('0,%.0f,%s,', untilMs, bans))
  keepFor(math.max(0, untilMs - now) + 2 * 86400000)
  return 1
end

-- lift
redis.call('HDEL', KEYS[1], field)
keepFor(2 * 86400000)
return tonumber(bannedUntil) > now and 1 or 0
