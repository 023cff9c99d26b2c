-- Reads the peaks of a group of quotas: "quota \0 newest day;minute used;... \0 quota ..." as one text, without the
-- days before the first one that is asked for.
-- KEYS: the hash of the group   ARGV: the first day; the cursor; the number of fields
local from = tonumber(ARGV[1])
local page = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
local all, found = page[2], {}
for i = 1, #all, 2 do
  local value = all[i + 1]
  local at = string.find(value, ';', 1, true)
  local newest = at and tonumber(string.sub(value, 1, at - 1))
  if newest and newest >= from then
    local to = at
    for _ = from, newest do
      to = to and string.find(value, ';', to + 1, true)
    end
    found[#found + 1] = all[i]
    found[#found + 1] = to and string.sub(value, 1, to - 1) or value
  end
end
return { page[1], table.concat(found, '\0') }
