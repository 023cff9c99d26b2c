-- Grants of format 1 are "day,points,minute,points,words".
local function upgradedSums(text)
  local day, ofDay, minute, ofMinute = match(text or '', '^(%d+),(%d+),(%d+),(%d+)')
  return day and 'minute:' .. minute .. ':' .. ofMinute .. ',day:' .. day .. ':' .. ofDay .. ','
end

local function upgradeGrants(hash)
  local lines = ''
  for line in string.gmatch(call('HGET', hash, 'n') or '', '[^\n]+') do
    local day, ofDay, minute, ofMinute, words = match(line, '^(%d+),(%d+),(%d+),(%d+),(.*)$')
    if day then
      lines = lines .. format('%.0f;minute:%s,day:%s,;', minute * 60000, ofMinute, ofDay) .. words .. '\n'
    end
  end
  if lines ~= '' then call('HSET', hash, 'n', lines, 'g', upgradedSums(call('HGET', hash, 'g')) or '') end
end
