-- Adds lines of a space of counts to a hash, each batch once.
-- KEYS: the hash
-- ARGV: the gateway; the number of its batch; the seconds to keep the hash; the most times of a text; how each number is
--       merged, a letter each (s: sum, m: max, l: latest); the times that are kept; when the hash is swept: with each 'time',
--       with each new 'text', or '' for one that is dropped as a whole; the most lines that are kept, 0 for any number;
--       then for each line: field, time, part, numbers
-- Fields: a text of counts: its newest time, and then for each time back from it ';' and the numbers of the part '', with
--         ',', name, '=' and numbers of each other part behind them. Zeros at the end of numbers are left out but for the first.
--         @<gateway>: the number of its last batch, and the latest time of that
--         ;: the time with which it was swept last
local hash, by, number = KEYS[1], '@' .. ARGV[1], tonumber(ARGV[2])
local span, how, kept = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local sweep, most = ARGV[7], tonumber(ARGV[8])
local count = #how
local first, step = 9, 3 + count
local call, find, sub, match = redis.call, string.find, string.sub, string.match
local last = call('HGET', hash, by)
if last and number <= (tonumber(match(last, '^%d+')) or 0) then return 0 end

-- Whoever may use this Redis may write any number there.
local largest = 9007199254740991
-- No key has so many lines within a text of few times; it bounds what a call reads and writes.
local longest = 16384

local function text(n)
  if n < 1e14 then return n .. '' end
  return string.format('%.0f', math.min(n, largest))
end

local function mergedNumber(kind, given, before)
  if kind == 's' then return given + before end
  return kind == 'm' and before > given and before or given
end

-- The numbers of a line together with the stored ones.
local function merged(stored, i)
  local used = count
  while used > 1 and ARGV[i + used] == '0' do used = used - 1 end
  if stored == '' then return table.concat(ARGV, ' ', i + 1, i + used) end
  -- Nearly all lines have a single number.
  if used == 1 and not find(stored, ' ', 1, true) then
    return text(mergedNumber(sub(how, 1, 1), tonumber(ARGV[i + 1]), tonumber(stored) or 0))
  end
  local numbers, n = {}, 0
  for one in string.gmatch(stored, '%d+') do n = n + 1; numbers[n] = tonumber(one) end
  for j = 1, count do
    local one = mergedNumber(sub(how, j, j), tonumber(ARGV[i + j]), numbers[j] or 0)
    if j > used and one ~= 0 then used = j end
    numbers[j] = text(one)
  end
  return table.concat(numbers, ' ', 1, used)
end

-- How the numbers of a line begin in a text.
local function nameOf(i)
  return ARGV[i + 2] == '' and '' or ',' .. ARGV[i + 2] .. '='
end

-- The lines of a time with those of the arguments from one place to another, with room for so many characters.
local function with(lines, i, last, room)
  if i == last then
    local _, to = find(lines, nameOf(i), 1, true)
    local own = to and match(lines, '^[%d ]*', to + 1)
    if own then return sub(lines, 1, to) .. merged(own, i + 2) .. sub(lines, to + 1 + #own) end
  end
  -- A key may have hundreds of parts, and each is looked for.
  local out, places = { match(lines, '^[%d ]*') }, {}
  for name, numbers in string.gmatch(lines, '(,[^=]*=)([%d ]*)') do
    out[#out + 1] = name
    out[#out + 1] = numbers
    places[name] = #out
  end
  places[''] = 1
  for j = i, last, step do
    local name = nameOf(j)
    local place = places[name]
    if not place and (most == 0 or room > 0) then
      place, room = #out + 2, room - #name
      out[place - 1], out[place], places[name] = name, '', place
    end
    if place then out[place] = merged(out[place], j + 2) end
  end
  return table.concat(out)
end

-- A text begins with its newest time.
local latest, field, newest, begins, times, isNew = 0, nil, nil, nil, nil, false
local function keep()
  if field then call('HSET', hash, field, begins .. times) end
end
local i = first
while i <= #ARGV do
  local at, last = tonumber(ARGV[i + 1]), i
  while ARGV[last + step] == ARGV[i] and ARGV[last + step + 1] == ARGV[i + 1] do last = last + step end
  if at > latest then latest = at end
  if ARGV[i] ~= field then
    keep()
    field = ARGV[i]
    local stored = call('HGET', hash, field)
    local _, begin = find(stored or '', '^%d+;')
    begins = begin and sub(stored, 1, begin - 1)
    newest = begin and tonumber(begins)
    if newest and newest <= largest then
      times = sub(stored, begin)
    else
      newest, begins, times, isNew = at, ARGV[i + 1], ';', true
    end
  end
  local back = newest - at
  if back < 0 then
    -- Times without lines lie between.
    times = string.rep(';', math.min(-back, span)) .. times
    newest, begins, back = at, ARGV[i + 1], 0
    -- The times of other texts are always the same.
    local from, n = sweep == 'time' and 0 or nil, 0
    while from and n <= span do
      from = find(times, ';', from + 1, true)
      n = n + 1
    end
    if from then times = sub(times, 1, from - 1) end
  end
  if back < span then
    local from = 1
    for _ = 1, back do
      local following = find(times, ';', from + 1, true)
      if not following then
        times = times .. ';'
        following = #times
      end
      from = following
    end
    local to = span > 1 and find(times, ';', from + 1, true) or #times + 1
    local lines = with(sub(times, from + 1, to - 1), i, last, longest - #times)
    times = sub(times, 1, from) .. lines .. sub(times, to)
  end
  i = last + step
end
keep()

-- Forgets what is too old or too much, and gateways that are gone: a batch that is repeated comes soon.
local isDue = sweep == 'text' and isNew
if sweep == 'time' and latest > (tonumber(call('HGET', hash, ';') or '') or 0) then
  isDue = true
  call('HSET', hash, ';', text(latest))
end
if isDue then
  local known = latest - 2 * (sweep == 'text' and span or 1)
  local all, texts = call('HGETALL', hash), {}
  for i = 1, #all, 2 do
    local name, value = all[i], all[i + 1]
    if sub(name, 1, 1) == '@' then
      if (tonumber(match(value, ' (%d+)$')) or 0) < known then call('HDEL', hash, name) end
    elseif name ~= ';' then
      local time = tonumber(match(value, '^%d+')) or 0
      if time <= latest - kept then
        call('HDEL', hash, name)
      elseif most > 0 then
        local _, own = string.gsub(value, ';%d', '')
        local _, others = string.gsub(value, ',', '')
        texts[#texts + 1] = { time = time, name = name, lines = own + others }
      end
    end
  end
  table.sort(texts, function(a, b) return a.time > b.time end)
  local sum = 0
  for _, one in ipairs(texts) do
    -- The oldest text that is kept may have more lines than are told; those are left out when they are read.
    if sum >= most then call('HDEL', hash, one.name) end
    sum = sum + one.lines
  end
end
call('HSET', hash, by, ARGV[2] .. ' ' .. text(latest))
call('EXPIRE', hash, ARGV[3])
return 1
