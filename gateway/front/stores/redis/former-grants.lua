-- Grants of format 1 were "day,points,minute,points,words".
local function upgradeGrants(hash)
  local lines, sums = '', ''
  for line in string.gmatch(call('HGET', hash, 'n') or '', '[^\n]+') do
    local day, ofDay, minute, ofMinute, words = match(line, '^(%d+),(%d+),(%d+),(%d+),(.*)$')
    if day then
      lines = lines .. format('%.0f;minute:%s,day:%s,;', minute * 60000, ofMinute, ofDay) .. words .. '\n'
    end
  end
  local day, ofDay, minute, ofMinute =
    match(call('HGET', hash, 'g') or '', '^(%d+),(%d+),(%d+),(%d+)')
  if day then sums = 'minute:' .. minute .. ':' .. ofMinute .. ',day:' .. day .. ':' .. ofDay .. ',' end
  if lines ~= '' then call('HSET', hash, 'n', lines, 'g', sums) end
end
