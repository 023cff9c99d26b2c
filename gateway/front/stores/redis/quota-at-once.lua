-- Decides requests as quota.lua does, where requests under way are limited as well: a place is taken in the same step.
--
-- KEYS: the quotas' hashes
-- ARGV: the time, see time.lua; for each hash its question, as in quota.lua; then for each hash
--       "gateway,number,settled,1 to take a place;gone,gone,;&part=limit,held&part=limit,held"
-- Returns: as quota.lua, each answer behind "taken,taken,|gateway,gateway,#": the places taken in each part, and where one has
--          no room, whose they are. The verdict 3: no room.
--include time.lua
--include places.lua
local placesAsked

-- The limited parts of a question, with what its gateway tells of them.
local function roomsIn(hash)
  local gateway, number, settled, takes, gone, parts =
    match(placesAsked, '^([^,]*),(%d+),(%d+),(%d);([^;]*);(.*)$')
  local rooms = { gateway = gateway, number = number + 0, isLook = takes == '0' }
  for part, limit, held in string.gmatch(parts, '&([^=]*)=(%d+),(%d+)') do
    local holders = {}
    for _, holder in ipairs(holdersOf(hash, part)) do
      local isGone = holder.gateway ~= gateway and find(gone, holder.gateway .. ',', 1, true)
      local isIdle = takenBy(holder) == 0 and now - holder.since > placesIdleMs
      if not isGone and not isIdle then holders[#holders + 1] = holder end
    end
    if not rooms.isLook then notePlaces(holders, gateway, rooms.number, settled + 0, held + 0) end
    local taken = placesIn(holders)
    if taken >= limit + 0 then rooms.crowded = rooms.crowded or holders end
    rooms[#rooms + 1] = { part = part, holders = holders, taken = taken }
  end
  return rooms
end

-- Takes a place in each room, if the question is let in. One that its gateway has given up takes none.
local function takePlaces(hash, rooms, isLetIn)
  if rooms.isLook then return end
  for _, room in ipairs(rooms) do
    local own = holderIn(room.holders, rooms.gateway)
    if isLetIn and rooms.number > own.settled then
      local isTaken = false
      for _, each in ipairs(own.later) do isTaken = isTaken or each == rooms.number end
      if not isTaken then
        if takenBy(own) == 0 then own.since = now end
        own.later[#own.later + 1], room.taken = rooms.number, room.taken + 1
      end
    end
    keepPlaces(hash, room.part, room.holders)
  end
end

local function textOfRooms(rooms)
  local text, holders = '', ''
  for _, room in ipairs(rooms) do text = text .. format('%.0f,', room.taken) end
  for _, holder in ipairs(rooms.crowded or {}) do
    if takenBy(holder) > 0 then holders = holders .. holder.gateway .. ',' end
  end
  return text .. '|' .. holders .. '#'
end

local try = redis.pcall
local answers, decide, rooms = { seconds .. ',' .. micros }, nil, nil
--include decide.lua
for i = 1, #KEYS do
  local hash, ask, stored, answer = KEYS[i], ARGV[i + 1], try('HGET', KEYS[i], 'c'), nil
  local failure = type(stored) == 'table' and stored.err
  if not failure then
    placesAsked = ARGV[#KEYS + i + 1]
    local seen = sub(ask, 1, find(ask, ';', 1, true) - 1)
    local endOfExpected = find(ask, ';', find(ask, ';', #seen + 2, true) + 1, true)
    local isDone
    isDone, answer = pcall(decide, hash, ask, seen, stored, endOfExpected)
    if isDone then answer = textOfRooms(rooms) .. answer else failure = answer end
  end
  if failure then
    local isOfOne = match(failure, 'WRONGTYPE') or match(failure, 'user_script:%d')
    -- An error that stops every write has stopped the first one: nothing is counted yet.
    if not isOfOne then return redis.error_reply(failure) end
    answer = redis.error_reply('ERR ' .. failure)
  end
  answers[i + 1] = answer
end
return answers
