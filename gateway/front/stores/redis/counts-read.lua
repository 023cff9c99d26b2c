-- Reads texts of counts of a hash, without the times before the first one that is asked for:
-- { the next cursor, "field \0 text \0 field ..." } as one text, which costs a gateway a fifth of what as many texts would.
-- KEYS: the hash   ARGV: the first time, or '' for texts of a single one; the cursor; the number of fields
local from = tonumber(ARGV[1])
local page = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
local all, found = page[2], {}
if not from then return { page[1], table.concat(all, '\0') } end
for i = 1, #all, 2 do
  local value = all[i + 1]
  local newest, to = string.match(value, '^(%d+)();')
  local left = (tonumber(newest) or -1) - from
  if left >= 0 then
    while to and left >= 0 do
      to = string.find(value, ';', to + 1, true)
      left = left - 1
    end
    found[#found + 1] = all[i]
    found[#found + 1] = to and string.sub(value, 1, to - 1) or value
  end
end
return { page[1], table.concat(found, '\0') }
