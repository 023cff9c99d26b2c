-- Decides requests and counts them, one after the other: each is one step on one hash, with ban, minute, day
-- and strike. gateway/front/limits/step.ts does the same, line by line, and says why.
--
-- KEYS: the quotas' hashes
-- ARGV: the time in milliseconds for tests, or ''; then for each hash
--       "seen;expected;ends;cost,limit a minute,limit a day,ban rules;banned;owed;key":
--       seen: the counters that the gateway saw last, in the form of the field c, or nothing
--       expected: those counters after admitting the request, or nothing
--       ends: the second in which the minute of seen ends
--       limits: -1 is unlimited
--       ban rules: "strikes,within,grace,for,factor,atMost,memory" or nothing
--       banned: the end of the ban that the gateway has seen, or 0
--       owed: the points that it admitted without the store, or nothing:
--             "minute,used,day,used,givenBack,generation,gateway,number"
-- Fields: c: "minute,used,day,used,givenBack,generation", and ",k" if there are fields of keys;
--         k:<key>: "refusedAt,bannedUntil,bans,strikes" of a key;
--         s:<gateway>: the number of its last settled report
--         g: "day,points,minute,points" that operators have granted, n: each grant; with them c has ",k"
--         p: "day,points;" for each day that the counters have left, for the ledger
-- Returns: "seconds,micros", and for each hash one of
--          '': the counters are now the expected ones
--          "minute,used,day,used,givenBack,generation": admitted, and the key has no strikes
--          the same and ",verdict,bannedUntil,strikes,bansNow": all other decisions
--          the same and ",points of the minute,points of the day": with grants
--          an error: this hash is damaged
--
-- Costs in instructions, by callgrind: an argument 1,400; an answer of 11 numbers 10,000, of one text 500;
-- a number to a text 3,000, by format 1,900; a text to a number by tonumber 1,800, by "+ 0" 800.
local call, floor, format, match = redis.call, math.floor, string.format, string.match
local seconds, micros
if ARGV[1] == '' then
  local time = call('TIME')
  seconds, micros = time[1], time[2]
else
  seconds, micros = floor(ARGV[1] / 1000), ARGV[1] % 1000 * 1000
end
local now = seconds * 1000 + floor(micros / 1000)
local fields = '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)(,?k?)$'

-- Adds points to a day of past points, as gateway/front/limits/past-points.ts does.
local function withPoints(past, day, points, today)
  local kept, sum = '', points
  for d, p in string.gmatch(past or '', '(%d+),(%d+);') do
    if d + 0 == day then sum = sum + p
    elseif d + 0 >= today - 3 then kept = kept .. d .. ',' .. p .. ';' end
  end
  return sum > 0 and kept .. string.format('%.0f,%.0f;', day, sum) or kept
end

local function decide(hash, ask)
  local seen, expected, ends, rest = match(ask, '^([^;]*);([^;]*);(%d+);()')
  local stored = call('HGET', hash, 'c')

  -- If no other gateway wrote since, the gateway's own calculation is right: half the work.
  -- A clock that is set back by less than a window doesn't begin the earlier one again.
  if expected ~= '' and stored == seen then
    local left = ends - seconds
    if left > 0 and left <= 120 then
      call('HSET', hash, 'c', expected)
      return ''
    end
  end

  local cost, perMinute, perDay, rules, seenBan, owed, key =
    match(ask, '^([^,]+),([^,]+),([^,]+),([^;]*);(%d+);([^;]*);(.*)$', rest)
  cost, perMinute, perDay, seenBan = cost + 0, perMinute + 0, perDay + 0, seenBan + 0
  local conductField = 'k:' .. key

  -- Roll: new windows where the old ones have ended.
  local minute, day = floor(now / 60000), floor(now / 86400000)
  local minuteUsed, dayUsed, dayGivenBack, generation = 0, 0, 0, 0
  local rolled, rolledDay = true, true
  local m, mu, d, du, db, g
  local mark = ''
  if stored then
    m, mu, d, du, db, g, mark = match(stored, fields)
    local last = m + 0
    if last == minute or last == minute + 1 then minute, minuteUsed, rolled = last, mu + 0, false end
    last = d + 0
    if last == day or last == day + 1 then
      day, dayUsed, dayGivenBack, rolledDay = last, du + 0, db + 0, false
    end
    generation = g + 0
  end
  local refusedAt, bannedUntil, bans, strikes = 0, 0, 0, ''
  local conduct, grants
  if mark == ',k' then
    local found = call('HMGET', hash, conductField, 'g')
    conduct, grants = found[1], found[2]
  end
  local grantedMinute, grantedDay = 0, 0
  if grants then
    local ofDay, dayPoints, ofMinute, minutePoints = match(grants, '^(%d+),(%d+),(%d+),(%d+)')
    if ofDay + 0 == day then grantedDay = dayPoints + 0 end
    if ofMinute + 0 == minute then grantedMinute = minutePoints + 0 end
  end
  if conduct then
    local a, b, c, s = match(conduct, '^(%d+),(%d+),(%d+),(%d*)$')
    refusedAt, bannedUntil, bans, strikes = a + 0, b + 0, c + 0, s
  end

  -- Heal: take the larger of the stored counters and those seen. Mostly both are the same text.
  local healed, conductChanged = false, false
  if seen ~= '' and (seen ~= stored or seenBan > 0) then
    local m, mu, d, du, db, g = match(seen, fields)
    mu, du, db, g = mu + 0, du + 0, db + 0, g + 0
    if g >= generation then
      if g > generation then
        conductChanged = bannedUntil > 0
        generation, minuteUsed, dayUsed, dayGivenBack, bannedUntil = g, 0, 0, 0, 0
        healed = true
      end
      if m + 0 == minute and mu > minuteUsed then minuteUsed, healed = mu, true end
      if d + 0 == day then
        if du > dayUsed then dayUsed, healed = du, true end
        if db > dayGivenBack then dayGivenBack, healed = db, true end
      end
      if seenBan > bannedUntil then bannedUntil, conductChanged = seenBan, true end
    end
  end

  -- Settle: add the points that were admitted without the store, once for each report.
  local past
  if owed ~= '' then
    local m, mu, d, du, db, g, by, number =
      match(owed, '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+),([^,]+),(%d+)$')
    local settled = tonumber(call('HGET', hash, 's:' .. by) or 0)
    if number + 0 > settled then
      call('HSET', hash, 's:' .. by, number)
      local counts = g + 0 >= generation
      healed = true
      if counts and m + 0 == minute then minuteUsed = minuteUsed + mu end
      local left = du - db
      if counts and d + 0 == day then
        local back = math.min(db + 0, dayUsed + du - dayGivenBack)
        dayUsed, dayGivenBack, left = dayUsed + du, dayGivenBack + back, back - db
      end
      if left ~= 0 then past = withPoints(call('HGET', hash, 'p'), d + 0, left, day) end
    end
  end

  -- Decide: 0 admitted, 1 refused, 2 banned.
  local verdict, bansNow, remembered = 0, 0, 2 * 86400000
  local fits = cost == 0
    or ((perMinute < 0 or minuteUsed + cost <= perMinute + grantedMinute)
      and (perDay < 0 or dayUsed - dayGivenBack + cost <= perDay + grantedDay))
  if bannedUntil > now then
    verdict = 2
  elseif not fits then
    verdict = 1
    if rules ~= '' then
      local most, within, grace, lasts, factor, atMost, memory =
        match(rules, '^(%d+),(%d+),(%d+),(%d+),([%d.]+),(%d+),(%d+)$')
      most, remembered = tonumber(most), math.max(remembered, tonumber(memory))
      if refusedAt == 0 then refusedAt, conductChanged = now, true end
      if now - refusedAt > tonumber(grace) then
        conductChanged = true
        -- A strike has thirteen digits, so the text begins with the oldest one that counts.
        strikes = string.sub(strikes .. format('%013d', now), -13 * most)
        if #strikes == 13 * most and now - tonumber(string.sub(strikes, 1, 13)) < tonumber(within) then
          local follows = bannedUntil > 0 and now - bannedUntil <= tonumber(memory)
          bans = follows and bans + 1 or 0
          bannedUntil = now
            + floor(math.min(tonumber(lasts) * tonumber(factor) ^ bans, tonumber(atMost)))
          -- Whole seconds are the ends of operators' bans.
          if bannedUntil % 1000 == 0 then bannedUntil = bannedUntil - 1 end
          strikes, refusedAt, verdict, bansNow = '', 0, 2, 1
        end
      end
    end
  elseif cost > 0 then
    minuteUsed = minuteUsed + cost
    dayUsed = dayUsed + cost
    if refusedAt ~= 0 then refusedAt, conductChanged = 0, true end
  end

  -- Store, with a lifetime until nothing of it matters any more.
  local counted = cost > 0 and verdict == 0
  local counters
  if rolled or rolledDay or healed then
    counters = format('%.0f,%.0f,%.0f,%.0f,%.0f,%.0f',
      minute, minuteUsed, day, dayUsed, dayGivenBack, generation)
  elseif counted then
    counters = m .. ',' .. format('%d', minuteUsed) .. ',' .. d .. ',' .. format('%d', dayUsed)
      .. ',' .. db .. ',' .. g
  else
    counters = string.sub(stored, 1, #stored - #mark)
  end
  local marked = conductChanged and mark == ''
  if marked then mark = ',k' end
  local changed = counted or healed or marked
  if changed then
    call('HSET', hash, 'c', counters .. mark)
    -- A day that had points ends: they are kept for the ledger.
    if rolledDay and stored and du ~= db then
      past = withPoints(past or call('HGET', hash, 'p'), d + 0, du - db, day)
    end
    if past then call('HSET', hash, 'p', past) end
  end
  if conductChanged then
    call('HSET', hash, conductField,
      format('%.0f,%.0f,%.0f,%s', refusedAt, bannedUntil, bans, strikes))
  end
  if conductChanged or rolled and changed then
    local lasts = (day + 1) * 86400000 - now
    -- A caller's quota waits for the ledger; one that an app counts by a name of its own doesn't.
    if string.sub(key, 1, 8) ~= 'limiter:' then lasts = lasts + 3 * 86400000 end
    if bannedUntil > 0 then lasts = math.max(lasts, bannedUntil + remembered - now) end
    if strikes ~= '' then lasts = math.max(lasts, remembered) end
    -- Never shorten the lifetime: it may be for another key of the same account.
    if call('PTTL', hash) < lasts then call('PEXPIRE', hash, lasts) end
  end
  local isGranted = grantedMinute + grantedDay > 0
  if verdict == 0 and strikes == '' and not isGranted then return counters end
  local answer = counters .. format(',%d,%.0f,%d,%d', verdict, bannedUntil, #strikes / 13, bansNow)
  return isGranted and answer .. format(',%.0f,%.0f', grantedMinute, grantedDay) or answer
end

local answers = { seconds .. ',' .. micros }
for i, hash in ipairs(KEYS) do
  local isDone, answer = pcall(decide, hash, ARGV[i + 1])
  if not isDone then
    local isOfOne = match(answer, 'WRONGTYPE') or match(answer, 'user_script:%d')
    -- An error that stops every write has stopped the first one: nothing is counted yet.
    if not isOfOne then return redis.error_reply(answer) end
    answer = redis.error_reply('ERR ' .. answer)
  end
  answers[i + 1] = answer
end
return answers
