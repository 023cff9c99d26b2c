-- The adjustments that were made already: a gateway repeats those of which it doesn't know. The field a:<gateway> is
-- "from;day;,number,number,": the number below which it repeats none, the day of its last one, and those made from there on.
-- Returns whether this one, "gateway,number,from", was made, and notes it.
local function isMade(hash, numbered)
  local by, number, from = match(numbered, '^(.+),(%d+),(%d+)$')
  local field, today, others = 'a:' .. by, floor(now / dayMs), ','
  local stored = call('HGET', hash, field)
  local first, made = match(stored or '0;0;,', '^(%d+);%d+;(.*)$')
  if number - first < 0 or find(made, ',' .. number .. ',', 1, true) then return true end
  first = math.max(first, from)
  for each in string.gmatch(made, '%d+') do
    if each - first >= 0 then others = others .. each .. ',' end
  end
  if not stored then
    -- Gateways that are gone have left theirs: each start has a new name.
    for _, other in ipairs(call('HKEYS', hash)) do
      local day = sub(other, 1, 2) == 'a:' and match(call('HGET', hash, other), '^%d+;(%d+);')
      if day and day + 3 < today then call('HDEL', hash, other) end
    end
  end
  call('HSET', hash, field, format('%.0f;%.0f;', first, today) .. others .. number .. ',')
  return false
end
