-- What operators, and answers that never came, do to a quota; each one step.
-- KEYS: the quota's hash   ARGV: what, then for
--   giveBack: cost, day      reset: -      ban: key, until      lift: key
-- The last of ARGV is the time, for tests only, or ''.
local now = ARGV[#ARGV]
if now == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(now)
end
local what = ARGV[1]

-- A generation that no gateway can have seen: what they carry from before counts no more.
local function nextGeneration()
  local generation = tonumber(redis.call('HGET', KEYS[1], 'g')) or 0
  redis.call('HSET', KEYS[1], 'g', math.max(generation + 1, now))
end

local function keepAtLeast(milliseconds)
  if redis.call('PTTL', KEYS[1]) < milliseconds then
    redis.call('PEXPIRE', KEYS[1], milliseconds)
  end
end

if what == 'giveBack' then
  local h = redis.call('HMGET', KEYS[1], 'd', 'du', 'db')
  if h[1] ~= ARGV[3] then return 0 end
  local back = math.min(tonumber(h[2]), tonumber(h[3]) + tonumber(ARGV[2]))
  redis.call('HSET', KEYS[1], 'db', back)
  return 1
end

if what == 'reset' then
  nextGeneration()
  redis.call('HSET', KEYS[1], 'mu', 0, 'du', 0, 'db', 0)
  keepAtLeast(2 * 86400000)
  return 1
end

local field = 'k:' .. ARGV[2]
local conduct = redis.call('HGET', KEYS[1], field) or '0,0,0,'
local _, bannedUntil, bans = string.match(conduct, '^(%d+),(%d+),(%d+),')
if what == 'ban' then
  redis.call('HSET', KEYS[1], field, string.format('0,%d,%d,', tonumber(ARGV[3]), tonumber(bans)))
  nextGeneration()
  keepAtLeast(math.max(0, tonumber(ARGV[3]) - now) + 2 * 86400000)
  return 1
end

-- lift
redis.call('HDEL', KEYS[1], field)
nextGeneration()
keepAtLeast(2 * 86400000)
return tonumber(bannedUntil) > now and 1 or 0
