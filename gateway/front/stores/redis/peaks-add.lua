-- Adds peaks of quotas: the highest count of each day stays, refusals are summed.
-- ARGV from the fourth on: the number of days that are kept; then for each peak: field, day, the number of its windows;
--       the most points used in each window; the refusals by each window
-- Fields: a quota: its newest day, and then for each day back from it ';' and the most points of its required windows, with
--         the refusals by each behind them if it was refused, and nothing if it wasn't used
--         a window and a quota: the same of an optional window
--         @: the day on which quotas that aren't used any more were last forgotten
--include count-space.lua
local kept = tonumber(ARGV[4])

local function merged(part, i, count)
  local stored, numbers, refused = {}, {}, 0
  for number in string.gmatch(part, '%d+') do stored[#stored + 1] = tonumber(number) end
  for j = 1, 2 * count do
    local number = tonumber(ARGV[i + j])
    if j <= count then
      number = math.max(number, stored[j] or 0)
    else
      number = number + (stored[j] or 0)
      refused = refused + number
    end
    numbers[j] = string.format('%.0f', number)
  end
  return table.concat(numbers, ' ', 1, refused > 0 and 2 * count or count)
end

local latest, field, newest, parts = 0, nil, nil, nil
local function keep()
  if field then redis.call('HSET', hash, field, string.format('%.0f', newest) .. parts) end
end
local i = 5
while i <= #ARGV do
  local day, count = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  latest = math.max(latest, day)
  -- In a load, the days of one quota come together.
  if ARGV[i] ~= field then
    keep()
    field = ARGV[i]
    newest, parts = string.match(redis.call('HGET', hash, field) or '', '^(%d+)(.*)$')
    if not newest then newest, parts = day, ';' end
  end
  local back = newest - day
  if back < 0 then
    -- Days without use lie between.
    parts = string.rep(';', math.min(-back, kept)) .. parts
    newest, back = day, 0
    local from, days = 0, 0
    while from and days <= kept do
      from = string.find(parts, ';', from + 1, true)
      days = days + 1
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
    parts = string.sub(parts, 1, from) .. merged(string.sub(parts, from + 1, to - 1), i + 2, count) .. string.sub(parts, to)
  end
  i = i + 3 + 2 * count
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
