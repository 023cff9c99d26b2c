-- The part of quota-more.lua that its questions for places need.
--include places.lua
local rooms
local placesAsked

-- The limited parts of a question, with what its gateway tells of them.
local function roomsIn(hash)
  if placesAsked == '' then return { isLook = true } end
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
