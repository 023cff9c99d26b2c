-- The rules by which a request is decided and counted: ban, windows and strike. gateway/front/limits/step.ts has them, too,
-- line by line, and says why. Stands where a script needs them: making these functions costs as much as two predicted
-- decisions.
--include counters.lua
--with-more --include decide-purse.lua

decide = function(hash, ask, seen, stored, endOfExpected)
  local question = { match(ask, asked, find(ask, ';', endOfExpected + 1, true) + 1) }
  local cost, at = question[1] + 0, #windows + 2
  local countsBrief, rules, more, seenBan, owed, partTexts, key =
    question[at] == '1', question[at + 1], question[at + 2], question[at + 3] + 0,
    question[at + 4], question[at + 5], question[at + 6]
  local needed, included = cost, nil
  if more ~= '' then
    local least, limits = match(more, '^(%d*)|(.*)$')
    if least ~= '' then needed = math.max(cost, least + 0) end
    if limits ~= '' then included = limits end
  end
  local conductField = 'k:' .. key

  local counters = stored and countersFrom(stored) or newCounters()
  local endedDay, endedPoints, isNewMonth, isNewBrief = roll(counters, countsBrief)
  local refusedAt, bannedUntil, bans, strikes, strikesSince = 0, 0, 0, 0, 0
  local conduct, grants
  if counters.mark == ',k' then
    local stores = call('HMGET', hash, conductField, 'g')
    conduct, grants = stores[1], stores[2]
  end
  if conduct then
    local a, b, c, d, e = match(conduct, '^(%d+),(%d+),(%d+),(%d+),(%d+)$')
    refusedAt, bannedUntil, bans, strikes, strikesSince = a + 0, b + 0, c + 0, d + 0, e + 0
  end

  -- Heal: take the larger of the stored counters and those seen. Mostly both are the same text.
  local healed, conductChanged, isSeenOld, lost = false, false, false, 0
  if seen ~= '' and (seen ~= stored or seenBan > 0) then
    --include heal.lua
    local isNewer
    isSeenOld, healed, isNewer, lost = heal(hash, counters, countersFrom(seen))
    if isNewer and bannedUntil > 0 then bannedUntil, conductChanged = 0, true end
    if not isSeenOld and seenBan > bannedUntil then bannedUntil, conductChanged = seenBan, true end
  end

  local granted, isGranted = {}, false
  if grants then
    for name, number, points in string.gmatch(grants, '(%a+):(%d+):(%d+)') do
      if numberOf(counters, windowNamed[name]) == number + 0 then granted[name], isGranted = points, true end
    end
  end
  if lost > 0 and included then
    --include beyond.lua
    noteBeyond(hash, counters, counters, lost, withGranted(included, granted))
  end

  --with-more local purse, prepaidAt, prepaidLimit = purseAskedFor(hash, counters, isSeenOld)
  --with-more if purse and purse.isHealed then healed = true end
  -- Settle: add the points that were admitted without the store, once for each report.
  local past
  if owed ~= '' then
    --include parts.lua
    --include past.lua
    local report, ofParts, by, number = match(owed, '^([^&]*)(.*),([^,]+),(%d+)$')
    if number - (call('HGET', hash, 's:' .. by) or 0) > 0 then
      call('HSET', hash, 's:' .. by, number)
      report, healed = countersFrom(report), true
      local before = usedIn(counters, dayWindow)
      local isOld = report.generation - counters.generation < 0
      if not isOld or report.generation - (call('HGET', hash, 'r') or 0) >= 0 then
        addReport(counters, report)
        for name, text in string.gmatch(ofParts, '&(%l+:[^=]+)=([^&]*)') do
          local part, points = partOf(hash, name, counters, false), countersFrom(text)
          roll(part, points[brief[1] and brief[1].at] ~= nil)
          addReport(part, points)
          call('HSET', hash, name, textOf(part))
          --with-more if name == 'pre:taken' then purse.taken = part end
        end
      end
      local points = usedIn(report, dayWindow)
      local left = points - (usedIn(counters, dayWindow) - before)
      if left ~= 0 then
        past = call('HGET', hash, 'p')
        -- It may take points back from the day that has just ended.
        if endedDay and endedPoints ~= 0 then past = withPoints(past, endedDay, endedPoints, counters.day) end
        endedPoints = 0
        past = withPoints(past, numberOf(report, dayWindow), left, counters.day)
      end
      --with-more local taken = match(ofParts, '&pre:taken=([^&]*)')
      --with-more if taken then settlePurse(hash, purse, counters, report, countersFrom(taken)) points = 0 end
      local reported = match(ofParts, '&included=([^&]*)')
      if reported or points < 0 then
        --include beyond.lua
        noteBeyond(hash, counters, report, points, reported, past)
      end
    end
  end

  -- Parts: an operation and a cap, which must have room, too.
  local parts = {}
  if partTexts ~= '' then
    --include parts.lua
    for name, limits, partBrief, partSeen in string.gmatch(partTexts, '([^|&]+)|([^|]*)|(%d)|([^&]*)') do
      local part = { name = name, counters = partOf(hash, name, counters, partBrief == '1') }
      part.limits = { match(limits, '^([^,]+)' .. string.rep(',([^,]+)', #windows - 1)) }
      if partSeen ~= '' and not isSeenOld then part.isHealed = takeLarger(part.counters, countersFrom(partSeen)) end
      parts[#parts + 1] = part
    end
  end

  --with-more if prepaidAt == 0 then purse = nil end
  --with-more if purse then question[prepaidAt + 1] = limitByPurse(purse, counters, windows[prepaidAt], prepaidLimit, granted) end
  --with-more rooms = roomsIn(hash)
  -- Decide: 0 admitted, 1 refused, 2 banned.
  local verdict, bansNow, remembered = 0, 0, 2 * dayMs
  -- The longest window without room: the last one in the list.
  local full
  if needed > 0 then
    for i = 1, #windows do
      local window, limit = windows[i], question[i + 1]
      if limit ~= '-1' and usedIn(counters, window) + needed > limit + (granted[window.name] or 0) then
        full = window
      end
      for _, part in ipairs(parts) do
        local most = part.limits[i]
        if most ~= '-1' and usedIn(part.counters, window) + needed > most + 0 then full = window end
      end
    end
  end
  if bannedUntil > now then
    verdict = 2
  elseif full then
    verdict = 1
    if rules ~= '' and full.strikes then
      local most, within, grace, lasts, factor, atMost, memory =
        match(rules, '^(%d+),(%d+),(%d+),(%d+),([%d.]+),(%d+),(%d+)$')
      most, remembered = tonumber(most), math.max(remembered, tonumber(memory))
      local length = shortest.lengthMs
      if floor(refusedAt / length) ~= floor(now / length) then refusedAt, conductChanged = now, true end
      if now - refusedAt > tonumber(grace) then
        conductChanged = true
        if now - strikesSince >= tonumber(within) then strikes, strikesSince = 0, now end
        strikes = strikes + 1
        if strikes >= most then
          local follows = bannedUntil > 0 and now - bannedUntil <= tonumber(memory)
          bans = follows and bans + 1 or 0
          bannedUntil = now + floor(math.min(tonumber(lasts) * tonumber(factor) ^ bans, tonumber(atMost)))
          -- Whole seconds are the ends of operators' bans.
          if bannedUntil % 1000 == 0 then bannedUntil = bannedUntil - 1 end
          strikes, strikesSince, refusedAt, verdict, bansNow = 0, 0, 0, 2, 1
        end
      end
    end
  --with-more elseif rooms.crowded and not rooms.isLook then verdict = 3
  elseif needed > 0 then
    counters.total = counters.total + cost
    for _, part in ipairs(parts) do part.counters.total = part.counters.total + cost end
    if refusedAt ~= 0 then refusedAt, conductChanged = 0, true end
  end

  --with-more takePlaces(hash, rooms, verdict == 0)
  --with-more if purse then takeBought(hash, counters, purse, verdict == 0 and needed > 0 and cost or 0) end
  if included and cost > 0 and verdict == 0 then
    --include beyond.lua
    noteBeyond(hash, counters, counters, cost, withGranted(included, granted))
  end

  -- Store, with a lifetime until nothing of it matters any more.
  local counted = cost > 0 and verdict == 0
  local text = textOf(counters)
  local marked = conductChanged and counters.mark == ''
  if marked then counters.mark = ',k' end
  -- A brief window counts from the first request on that it limits, admitted or not. A question of cost 0 writes nothing.
  local changed = counted or healed or marked or isNewBrief and needed > 0
  if changed then
    if isNewMonth then
      --include parts.lua
      forgetParts(hash, true)
    end
    call('HSET', hash, 'c', text .. counters.mark)
    -- A day that had points ends: they are kept for the ledger.
    if endedDay and endedPoints ~= 0 then
      --include past.lua
      past = withPoints(past or call('HGET', hash, 'p'), endedDay, endedPoints, counters.day)
    end
    if past then call('HSET', hash, 'p', past) end
  end
  for _, part in ipairs(parts) do
    if counted or part.isHealed then call('HSET', hash, part.name, textOf(part.counters)) end
  end
  if conductChanged then
    call('HSET', hash, conductField,
      format('%.0f,%.0f,%.0f,%.0f,%.0f', refusedAt, bannedUntil, bans, strikes, strikesSince))
  end
  if conductChanged or changed and endedDay then
    --include past.lua
    local lasts = lifetime(counters)
    if bannedUntil > 0 then lasts = math.max(lasts, bannedUntil + remembered - now) end
    if strikes > 0 then lasts = math.max(lasts, remembered) end
    -- Never shorten the lifetime: it may be for another key of the same account.
    if call('PTTL', hash) < lasts then call('PEXPIRE', hash, lasts) end
  end
  if verdict == 0 and strikes == 0 and not isGranted and #parts == 0 then return text end
  local answer = text .. format(';%d,%.0f,%d,%d;', verdict, bannedUntil, strikes, bansNow)
  for name, points in pairs(granted) do answer = answer .. name .. ':' .. points .. ',' end
  for i, part in ipairs(parts) do answer = answer .. (i == 1 and ';' or '|') .. textOf(part.counters) end
  return answer
end
