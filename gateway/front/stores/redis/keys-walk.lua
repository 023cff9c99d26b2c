-- Reads lines of the index of keys, in their order, and answers those that fit a filter, as `fits` in keys/line.ts:
-- { the line to go on after or '' at the end, line, record, version, line, ... }
-- KEYS: lines, records, versions, pending
-- ARGV: the line to begin after, the most lines to read, the most to answer; the search, the name, the letters of
--       states, the time in milliseconds; then parts with their separators
local most = tonumber(ARGV[3])
local search, name, states, now = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local find = string.find

-- A text in the name, in account, note or reference, or at the beginning of the id.
local function has_text(line)
  if find(line, search, 1, true) < find(line, '\1', 1, true) then return true end
  local account_at = find(line, '\2', 1, true)
  local at = find(line, search, account_at, true)
  if at and at < find(line, '\4', account_at, true) then return true end
  return find(line, '\6' .. search, 1, true)
end

local function has_state(line)
  local from, to = find(line, '\5', 1, true), find(line, '\6', 1, true)
  local letter = string.sub(line, from + 1, math.min(from + 1, to - 1))
  if letter == '' then return false end
  if to > from + 2 and tonumber(string.sub(line, from + 2, to - 1)) <= now then letter = 'e' end
  return find(states, letter, 1, true)
end

-- After a first look at the search.
local function fits(line)
  for i = 8, #ARGV do
    if not find(line, ARGV[i], 1, true) then return false end
  end
  if search ~= '' and not has_text(line) then return false end
  if name ~= '' then
    local at = find(line, name, 1, true)
    if not at or at > find(line, '\1', 1, true) then return false end
  end
  return has_state(line)
end

local first = ARGV[1] == '' and '-' or '(' .. ARGV[1]
local lines = redis.call('ZRANGEBYLEX', KEYS[1], first, '+', 'LIMIT', 0, ARGV[2])
local answer = { '' }
local found = 0
for i = 1, #lines do
  local line = lines[i]
  if find(line, search, 1, true) and fits(line) then
    local id = string.match(line, '\1([^\2]*)\2')
    local record = redis.call('HGET', KEYS[2], id)
    local version = redis.call('ZSCORE', KEYS[3], id)
    if not version then
      -- An unfinished import was taken back, and what was to remove its lines has died meanwhile.
      redis.call('ZREM', KEYS[1], line)
    elseif record and redis.call('HEXISTS', KEYS[4], id) == 0 then
      found = found + 1
      answer[#answer + 1] = line
      answer[#answer + 1] = record
      answer[#answer + 1] = version
    end
  end
  if found == most or (i == #lines and #lines == tonumber(ARGV[2])) then
    answer[1] = line
    return answer
  end
end
return answer
