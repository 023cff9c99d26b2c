-- Changes a quota for an operator, or gives points of an unanswered request back, in one step. For the
-- fields see quota.lua.
-- KEYS: the quota's hash   ARGV: the change, then for
--   giveBack: cost, day      reset: -      ban: key, until      lift: key
-- The last of ARGV is the time for tests, or ''.
local now = ARGV[#ARGV]
if now == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(now)
end
local change = ARGV[1]
local stored = redis.call('HGET', KEYS[1], 'c') or '0,0,0,0,0,0'
local minute, minuteUsed, day, dayUsed, givenBack, generation, mark =
  string.match(stored, '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)(,?k?)$')

local function keep(used, usedOfDay, back, number)
  redis.call('HSET', KEYS[1], 'c', minute .. ',' .. used .. ',' .. day .. ',' .. usedOfDay
    .. ',' .. back .. ',' .. number .. mark)
end

if change == 'giveBack' then
  if day ~= ARGV[3] then return 0 end
  keep(minuteUsed, dayUsed, math.min(tonumber(dayUsed), givenBack + tonumber(ARGV[2])), generation)
  return 1
end

-- A generation that no gateway can have seen: counters seen before don't count any more.
local nextGeneration = math.max(generation + 1, now)

local function keepFor(milliseconds)
  if redis.call('PTTL', KEYS[1]) < milliseconds then
    redis.call('PEXPIRE', KEYS[1], milliseconds)
  end
end

if change == 'reset' then
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
