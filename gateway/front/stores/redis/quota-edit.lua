-- Changes a quota for an operator, or adjusts what a request has cost, in one step. For the fields see quota.lua.
-- KEYS: the quota's hash   ARGV: the time, see time.lua; the change, then for
--   adjust: points; 0, 1 if answered, or 2 if its admission came too late; the counters of its admission, those seen last, "&part=counters;seen", what was included,
--           "gateway,number,from" or nothing, see adjusted.lua, and for a prepaid window "its place|included|room|took|purse that was
--           seen|part pre:taken that was seen", the room and the points taken after the admission
--   reset: -      ban: key, until      lift: key      places: -
--   top-up: id, points, the most that are kept, author and note as JSON. The field z has a line for each:
--           "id<tab>points<tab>time<tab>bought points left<tab>JSON"
--   grant: "window:points,", the most grants, author and note as JSON      month: the day on which months begin
--include time.lua
--include counters.lua
--include heal.lua
--include purse.lua
--include adjusted.lua
local hash, change = KEYS[1], ARGV[2]
local stored = call('HGET', hash, 'c')
local counters = stored and countersFrom(stored) or newCounters()

local function keep()
  call('HSET', hash, 'c', textOf(counters) .. counters.mark)
end

local function keepPast(day, points)
  local past = call('HGET', hash, 'p')
  if points > 0 or past then call('HSET', hash, 'p', withPoints(past, day, points, day)) end
end

local function keepFor(milliseconds)
  if call('PTTL', hash) < milliseconds then call('PEXPIRE', hash, milliseconds) end
end

-- Adjusts the windows of an admission that still run, as in gateway/front/limits/counters.ts.
local function adjust(present, points, isAnswered, admission)
  if points > 0 then present.total = present.total + points end
  for _, window in ipairs(windows) do
    local at = window.at
    if present[at] then
      local isRunning = numberOf(present, window) == numberOf(admission, window)
      if points > 0 and not isRunning then present[at + 1] = present[at + 1] + points end
      if points < 0 and isRunning and (isAnswered or window.comesBack) then
        present[at + 2] = present[at + 2] + min(-points, usedIn(present, window))
      end
    end
  end
  present.rest = nil
end

-- A generation that no gateway can have seen: counters seen before don't count any more.
local nextGeneration = max(counters.generation + 1, now)

local function begin()
  local day, points = roll(counters, false)
  if day and points ~= 0 then
    keepPast(day, points)
    keep()
  end
  return day
end

if change == 'adjust' then
  -- One that was made changes nothing, but brings lost writes back: its answer never tells less than its gateway has seen.
  local points = ARGV[9] ~= '' and isMade(hash, ARGV[9]) and 0 or ARGV[3] + 0
  local isAnswered, isLate, admission = ARGV[4] ~= '0', ARGV[4] == '2', countersFrom(ARGV[5])
  -- An admission of cost 0 may have begun windows that weren't kept.
  local isNewDay = begin()
  local isSeenOld = ARGV[6] == ''
  local limits, lost, _ = ARGV[8] ~= '' and ARGV[8] or nil, 0, nil
  if not isSeenOld then isSeenOld, _, _, lost = heal(hash, counters, countersFrom(ARGV[6])) end
  if lost > 0 then noteBeyond(hash, counters, counters, lost, limits) end
  local isReset = false
  if counters.generation - admission.generation ~= 0 then
    isReset = admission.generation - (call('HGET', hash, 'r') or 0) < 0
  end
  local bought = ''
  if ARGV[10] ~= '' then
    local at, included, room, took, seenPurse, seenTaken =
      match(ARGV[10], '^(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
    local window = windows[at + 0]
    local purse = purseOf(hash, counters, seenPurse, seenTaken, isSeenOld)
    local isRunning = not isReset and numberOf(counters, window) == numberOf(admission, window)
    if isRunning then room = roomIn(purse, counters, window, included + 0) end
    local isKnown = isRunning and purse.isKnown and not isLate
    local most = isKnown and takenIn(purse, counters, window) or took + 0
    local more = points < 0 and -min(-points, most) or max(0, points - room)
    if more ~= 0 then
      if not isReset then adjust(purse.taken, more, isAnswered, admission) end
      pay(purse, more)
      keepPurse(hash, purse)
      call('HSET', hash, 'pre:taken', textOf(purse.taken))
      noteBeyondPoints(hash, counters, admission, more)
    end
    bought = ';' .. textOfPurse(purse) .. ';' .. textOf(purse.taken)
  end
  local ofDay = usedIn(counters, dayWindow)
  if not isReset then adjust(counters, points, isAnswered, admission) end
  local text = textOf(counters)
  call('HSET', hash, 'c', text .. counters.mark)
  for name, ofPart, seen in string.gmatch(ARGV[7], '&([^=]+)=([^;&]*);?([^&]*)') do
    local admitted = countersFrom(ofPart)
    local part = partOf(hash, name, counters, admitted[brief[1] and brief[1].at] ~= nil)
    if seen ~= '' and not isSeenOld then takeLarger(part, countersFrom(seen)) end
    if not isReset then adjust(part, points, isAnswered, admitted) end
    call('HSET', hash, name, textOf(part))
  end
  local left = points - (usedIn(counters, dayWindow) - ofDay)
  if left ~= 0 then keepPast(numberOf(admission, dayWindow), left) end
  if bought == '' then noteBeyond(hash, counters, admission, points, limits, call('HGET', hash, 'p')) end
  if isNewDay or not stored then keepFor(lifetime(counters)) end
  return text .. bought
end

-- Writes the grants whose windows run; false if they are more than `most`. Without it those that have ended stay, too: an
-- operator may take back what has ended them.
local function keepGrants(lines, most)
  local running, count, sums, granted = '', 0, {}, ''
  for line in string.gmatch(lines, '[^\n]+') do
    local time, points = match(line, '^(%d+);([^;]*);')
    local isRunning = false
    for name, more in string.gmatch(points or '', '(%a+):(%d+)') do
      local number = numberAt(windowNamed[name], time + 0, counters.from)
      local present = numberOf(counters, windowNamed[name])
      isRunning = isRunning or number >= present
      if number == present then sums[name] = (sums[name] or 0) + more end
    end
    if isRunning or not most then running, count = running .. line .. '\n', count + 1 end
  end
  if most and count > most then return false end
  for name, points in pairs(sums) do
    granted = granted .. format('%s:%.0f:%.0f,', name, numberOf(counters, windowNamed[name]), points)
  end
  call('HSET', hash, 'n', running, 'g', granted)
  return true
end

-- A grant leaves the counters as they are, and so the generation.
if change == 'grant' then
  begin()
  -- A clock that is set back by less than a window is still in it.
  local at = now
  for _, window in ipairs(steady) do
    at = max(at, numberOf(counters, window) * window.unitMs)
  end
  local lines = call('HGET', hash, 'n') or ''
  lines = lines .. format('%.0f', at) .. ';' .. ARGV[3] .. ';' .. ARGV[5] .. '\n'
  if not keepGrants(lines, ARGV[4] + 0) then return 0 end
  counters.mark = ',k'
  keep()
  keepFor(lifetime(counters))
  return 1
end

if change == 'top-up' then
  begin()
  local id, points, lines, count = ARGV[3], ARGV[4] + 0, call('HGET', hash, 'z') or '', 0
  for line in string.gmatch(lines, '[^\n]+') do
    local other, before = match(line, '^([^\t]+)\t(%-?%d+)\t')
    if other == id then return { before + 0 == points and 'again' or 'other', line } end
    count = count + 1
  end
  local purse = purseFrom(call('HGET', hash, 'u'))
  local left = purse.bought - purse.spent + points
  if points < 0 and left < 0 then return { 'short', format('%.0f', left - points) } end
  pay(purse, -points)
  if points > 0 then purse.topUps, purse.last = purse.topUps + 1, points end
  if count >= ARGV[5] + 0 then lines = match(lines, '^[^\n]*\n(.*)$') end
  local line = id .. format('\t%.0f\t%.0f\t%.0f\t', points, now, left) .. ARGV[6]
  call('HSET', hash, 'z', lines .. line .. '\n')
  keepPurse(hash, purse)
  keep()
  keepFor(purseLastsMs)
  return { 'done', line }
end

if change == 'places' then
  for _, field in ipairs(call('HKEYS', hash)) do
    if sub(field, 1, 3) == 'at:' then call('HDEL', hash, field) end
  end
  return 1
end

if change == 'reset' then
  keepPast(numberOf(counters, dayWindow), usedIn(counters, dayWindow))
  empty(counters)
  forgetParts(hash)
  counters.generation = nextGeneration
  keep()
  call('HSET', hash, 'r', format('%.0f', nextGeneration))
  keepFor(2 * dayMs)
  return 1
end

counters.generation, counters.rest = nextGeneration, nil

if change == 'month' then
  begin()
  setMonthFrom(counters, ARGV[3])
  local lines = call('HGET', hash, 'n')
  if lines then keepGrants(lines) end
  keep()
  keepFor(lifetime(counters))
  return 1
end

local field = 'k:' .. ARGV[3]
local conduct = call('HGET', hash, field) or '0,0,0,'
local _, bannedUntil, bans = match(conduct, '^(%d+),(%d+),(%d+),')
if change == 'ban' then
  counters.mark = ',k'
  keep()
  local untilMs = tonumber(ARGV[4])
  call('HSET', hash, field, format('0,%.0f,%s,0,0', untilMs, bans))
  keepFor(max(0, untilMs - now) + 2 * dayMs)
  return 1
end

-- lift
keep()
call('HDEL', hash, field)
keepFor(2 * dayMs)
return bannedUntil - now > 0 and 1 or 0
