-- Requests under way, as in gateway/front/limits/places.ts. The field at:<part> of a quota's hash has for each gateway
-- "gateway,number,settled,held,since,later.later.;".
local placesIdleMs = 60000

local function takenBy(holder)
  return holder.held + #holder.later
end

local function holdersOf(hash, part)
  local holders = {}
  for gateway, number, settled, held, since, later in
    string.gmatch(call('HGET', hash, 'at:' .. part) or '', '([^,;]+),(%d+),(%d+),(%d+),(%d+),([%d.]*);') do
    local holder = { gateway = gateway, number = number + 0, settled = settled + 0, held = held + 0, since = since + 0, later = {} }
    for each in string.gmatch(later, '%d+') do holder.later[#holder.later + 1] = each + 0 end
    holders[#holders + 1] = holder
  end
  return holders
end

local function holderIn(holders, gateway)
  for _, holder in ipairs(holders) do
    if holder.gateway == gateway then return holder end
  end
  local holder = { gateway = gateway, number = 0, settled = 0, held = 0, since = now, later = {} }
  holders[#holders + 1] = holder
  return holder
end

-- Notes what a gateway tells, unless a later message has come.
local function notePlaces(holders, gateway, number, settled, held)
  local own = holderIn(holders, gateway)
  if number <= own.number then return own end
  local wasBusy, later = takenBy(own) > 0, {}
  for _, each in ipairs(own.later) do
    if each > settled then later[#later + 1] = each end
  end
  own.number, own.settled, own.held, own.later = number, settled, held, later
  if (takenBy(own) > 0) ~= wasBusy then own.since = now end
  return own
end

local function placesIn(holders)
  local sum = 0
  for _, holder in ipairs(holders) do sum = sum + takenBy(holder) end
  return sum
end

-- They are kept for longer than any request is silent: a gateway tells its own anew every hour.
local function keepPlaces(hash, part, holders)
  local text = ''
  for _, holder in ipairs(holders) do
    text = text .. format('%s,%.0f,%.0f,%.0f,%.0f,', holder.gateway, holder.number, holder.settled, holder.held, holder.since)
    for _, each in ipairs(holder.later) do text = text .. format('%.0f.', each) end
    text = text .. ';'
  end
  call('HSET', hash, 'at:' .. part, text)
  if call('PTTL', hash) < 86400000 then call('PEXPIRE', hash, 2 * 86400000) end
end
