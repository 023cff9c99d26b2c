-- Reads and writes the counters of a hash. While gateways of a former version write them, too, the field c stays in
-- their text, and the field w has the counters.
--include counters.lua

local function countersIn(hash, stored)
  local counters = stored and countersFrom(stored) or newCounters()
  if not counters.isFormer then return counters end
  --include former-grants.lua
  if not isBesideFormer then upgradeGrants(hash) end
  --include beside.lua
  return withLonger(hash, stored) or counters
end

local function keepCounters(hash, counters, text)
  if isBesideFormer then
    local former = format('%.0f,%.0f,%.0f,%.0f,%.0f,%.0f',
      -- To a minute of format 1 no points come back.
      numberOf(counters, shortest), usedIn(counters, shortest),
      numberOf(counters, dayWindow), counters.total - counters[dayWindow.at + 1],
      counters[dayWindow.at + 2], counters.generation)
    call('HSET', hash, 'c', former .. counters.mark, 'w', text)
  else
    call('HSET', hash, 'c', text .. counters.mark)
    if counters.isFormer then call('HDEL', hash, 'w') end
  end
end
