-- Adds peaks of quotas: the highest count of each day stays, refusals are summed.
-- ARGV from the fourth on: the number of days that are kept; then for each peak: quota, day, minute, used, refused by
--       minute, refused by day
-- Fields: a quota: its newest day, and then for each day back from it ';minute used', with ' refused refused' behind
--         if it was refused, and nothing if it wasn't used
--         @: the day on which quotas that aren't used any more were last forgotten
--include count-space.lua
local kept = tonumber(ARGV[4])

local function merged(part, i)
  local minute, used, byMinute, byDay = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local m, u, bm, bd = string.match(part, '^(%d+) (%d+) ?(%d*) ?(%d*)$')
  if m then
    minute, used = math.max(minute, tonumber(m)), math.max(used, tonumber(u))
    byMinute, byDay = sum(byMinute, tonumber(bm) or 0), sum(byDay, tonumber(bd) or 0)
  end
  local text = string.format('%.0f %.0f', minute, used)
  if byMinute + byDay == 0 then return text end
  return text .. string.format(' %.0f %.0f', byMinute, byDay)
end

local latest, quota, newest, parts = 0, nil, nil, nil
local function keep()
  if quota then redis.call('HSET', hash, quota, string.format('%.0f', newest) .. parts) end
end
for i = 5, #ARGV, 6 do
  local day = tonumber(ARGV[i + 1])
  latest = math.max(latest, day)
  -- In a copy, the days of one quota come together.
  if ARGV[i] ~= quota then
    keep()
    quota = ARGV[i]
    newest, parts = string.match(redis.call('HGET', hash, quota) or '', '^(%d+)(.*)$')
    if not newest then newest, parts = day, ';' end
  end
  local back = newest - day
  if back < 0 then
    -- Days without use lie between.
    parts = string.rep(';', math.min(-back, kept)) .. parts
    newest, back = day, 0
    local from, count = 0, 0
    while from and count <= kept do
      from = string.find(parts, ';', from + 1, true)
      count = count + 1
    end
    if from then parts = string.sub(parts, 1, from - 1) end
  end
  if back < kept then
    local from = 1
    for _ = 1, back do
      local following = string.find(parts, ';', from + 1, true)
      if not following then
        parts = parts .. ';'
        following = #parts
      end
      from = following
    end
    local to = string.find(parts, ';', from + 1, true) or #parts + 1
    parts = string.sub(parts, 1, from) .. merged(string.sub(parts, from + 1, to - 1), i + 2) .. string.sub(parts, to)
  end
end
keep()

-- Once a day: forgets quotas that aren't used any more, and gateways that are gone.
local swept = tonumber(redis.call('HGET', hash, '@') or 0)
if latest > swept then
  local all = redis.call('HGETALL', hash)
  for i = 1, #all, 2 do
    local field, value = all[i], all[i + 1]
    if string.sub(field, 1, 1) ~= '@' then
      if tonumber(string.match(value, '^%d+')) <= latest - kept then redis.call('HDEL', hash, field) end
    elseif field ~= '@' then
      forgetOld(field, value, latest)
    end
  end
  redis.call('HSET', hash, '@', latest)
end
return added(math.max(latest, swept))
