-- Reads the names of keys: one text of id, \0, name as in JSON, \0, reference as in JSON, \0, 1 for a test key, \0, id, ...
-- without keys that aren't there.
-- Whole records would be ten times as much to send and to parse.
-- KEYS: records, pending   ARGV: ids
local call, find, sub = redis.call, string.find, string.sub

local function textIn(record, member)
  local _, before = find(record, '"' .. member .. '":"', 1, true)
  if not before then return nil end
  local at = before + 1
  while true do
    local place = find(record, '["\\]', at)
    if not place then return nil end
    if sub(record, place, place) == '"' then return sub(record, before + 1, place - 1) end
    at = place + 2
  end
end

local records = call('HMGET', KEYS[1], unpack(ARGV))
local waits = call('HMGET', KEYS[2], unpack(ARGV))
local found = {}
for i, record in ipairs(records) do
  -- A key of an unfinished import isn't visible yet.
  local name = record and not waits[i] and textIn(record, 'name')
  if name then
    found[#found + 1] = ARGV[i]
    found[#found + 1] = name
    found[#found + 1] = textIn(record, 'reference') or ''
    -- A quote within a text has a backslash before it, so this is the member.
    found[#found + 1] = find(record, '"test":true', 1, true) and '1' or ''
  end
end
return table.concat(found, '\0')
