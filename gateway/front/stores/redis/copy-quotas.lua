-- Puts quotas. Of a stored one the larger counts win, as in gateway/front/stores/merge.ts. For the fields see quota.lua.
-- KEYS: the quotas' hashes   ARGV: the time, see time.lua; then for each: counters, the time until which it is kept, in
-- milliseconds, n, n fields and values
--include time.lua
--include counters.lua
--include recount.lua
--include past.lua

local function isWorse(field, given, stored)
  if sub(field, 1, 2) == 's:' or field == 'r' then return tonumber(given) > tonumber(stored) end
  local _, until1, _, strikes1 = match(given, '^(%d+),(%d+),(%d+),(%d+)')
  local _, until2, _, strikes2 = match(stored, '^(%d+),(%d+),(%d+),(%d+)')
  if not until2 or tonumber(until1) ~= tonumber(until2) then
    return not until2 or tonumber(until1) > tonumber(until2)
  end
  return tonumber(strikes1) > tonumber(strikes2)
end

-- Of grants those of the later day, or the more of one day; each line begins with its time.
local function areMore(given, stored)
  if not stored then return true end
  local function lastDay(lines)
    local last = 0
    for at in string.gmatch('\n' .. lines, '\n(%d+);') do last = max(last, floor(at / dayMs)) end
    return last
  end
  local day1, day2 = lastDay(given), lastDay(stored)
  if day1 ~= day2 then return day1 > day2 end
  local _, lines1 = string.gsub(given, '\n', '')
  local _, lines2 = string.gsub(stored, '\n', '')
  return lines1 > lines2
end

-- Adds the points of each day of a quota to a table: of two quotas the larger sum of each day stays.
local function noteDays(most, past, counted, points)
  local sums = { [counted] = points }
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do sums[tonumber(d)] = (sums[tonumber(d)] or 0) + p end
  for d, sum in pairs(sums) do most[d] = max(most[d] or 0, sum) end
end

-- Of each window the later one, or the larger of one number.
local function merged(given, stored, window)
  if numberOf(given, window) < numberOf(stored, window) then
    return numberOf(stored, window), countedIn(stored, window), backIn(stored, window) + 0
  end
  return larger(given, stored, window)
end

-- The counters of two stores that are of one generation. Both have what the other one's brief windows have counted.
local function mergedText(givenText, storedText)
  local given, stored = countersFrom(givenText), countersFrom(storedText)
  local counters = countersFrom(#givenText > #textOf(stored) and givenText or textOf(stored))
  recount(counters, function(window) return merged(given, stored, window) end)
  return textOf(counters)
end

local at = 2
for _, hash in ipairs(KEYS) do
  local counters = countersFrom(ARGV[at])
  local keepUntil, n = ARGV[at + 1], tonumber(ARGV[at + 2])
  local text = call('HGET', hash, 'c')
  local isRead, stored = pcall(countersFrom, text)
  local isOlder = false
  local most, givenPast, givenBeyond = {}, nil, nil
  local givenDay, givenPoints = numberOf(counters, dayWindow), usedIn(counters, dayWindow)
  local mark = ''
  if text and isRead then
    mark = stored.mark
    local storedDay, storedPoints = numberOf(stored, dayWindow), usedIn(stored, dayWindow)
    local newer = counters.generation - stored.generation
    if newer < 0 then
      isOlder, counters = true, stored
    elseif newer > 0 then
      for _, field in ipairs(call('HKEYS', hash)) do
        if match(field, '^k:') or match(field, '^op:') or match(field, '^cap:') then call('HDEL', hash, field) end
      end
    else
      counters = countersFrom(mergedText(ARGV[at], textOf(stored)))
      if storedDay == givenDay then
        storedPoints = usedIn(counters, dayWindow)
        givenPoints = storedPoints
      end
    end
    noteDays(most, call('HGET', hash, 'p'), storedDay, storedPoints)
  end
  local day = numberOf(counters, dayWindow)
  -- A reset leaves grants as they are, so that an older generation may have more of them.
  local sums, grants
  for i = at + 3, at + 2 + 2 * n, 2 do
    local field, value = ARGV[i], ARGV[i + 1]
    if field == 'g' then sums = value
    elseif field == 'n' then grants = value
    elseif field == 'p' then givenPast = value
    elseif field == 'b' then givenBeyond = value
    elseif not isOlder then
      local present = call('HGET', hash, field)
      if present and (match(field, '^op:') or match(field, '^cap:')) then
        call('HSET', hash, field, mergedText(value, present))
      elseif not present or isWorse(field, value, present) then call('HSET', hash, field, value) end
      if sub(field, 1, 2) == 'k:' then mark = ',k' end
    end
  end
  if grants and areMore(grants, call('HGET', hash, 'n')) then
    call('HSET', hash, 'g', sums, 'n', grants)
    mark = ',k'
  end
  if givenBeyond then
    local beyond, days = {}, ''
    noteDays(beyond, givenBeyond, 0, 0)
    noteDays(beyond, call('HGET', hash, 'b'), 0, 0)
    for d, points in pairs(beyond) do
      if points > 0 then days = days .. format('%.0f,%.0f;', d, points) end
    end
    call('HSET', hash, 'b', days)
  end
  -- The points that the counters don't have.
  noteDays(most, givenPast, givenDay, givenPoints)
  most[day] = (most[day] or 0) - usedIn(counters, dayWindow)
  local days, past = {}, ''
  for d, points in pairs(most) do
    if points > 0 and d >= day - 3 then days[#days + 1] = d end
  end
  table.sort(days)
  for _, d in ipairs(days) do past = past .. format('%.0f,%.0f;', d, most[d]) end
  if past ~= '' then call('HSET', hash, 'p', past) else call('HDEL', hash, 'p') end
  call('HSET', hash, 'c', textOf(counters) .. mark)
  local left = keepUntil - now
  if call('PTTL', hash) < left then call('PEXPIRE', hash, math.ceil(left)) end
  at = at + 3 + 2 * n
end
