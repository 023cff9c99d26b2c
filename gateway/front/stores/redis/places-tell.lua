-- Notes how many requests gateways have under way.
-- KEYS: the quotas' hashes   ARGV: the time, see time.lua; then for each hash "gateway,number,settled;&part=held&part=held"
--include time.lua
--include places.lua
for i = 1, #KEYS do
  local gateway, number, settled, parts = match(ARGV[i + 1], '^([^,]+),(%d+),(%d+);(.*)$')
  for part, held in string.gmatch(parts, '&([^=]*)=(%d+)') do
    local holders = holdersOf(KEYS[i], part)
    -- Whoever holds none, and has none here, leaves no trace.
    if #holders > 0 or held ~= '0' then
      notePlaces(holders, gateway, number + 0, settled + 0, held + 0)
      keepPlaces(KEYS[i], part, holders)
    end
  end
end
return #KEYS
