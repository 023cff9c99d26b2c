-- Decides requests and counts them, one after the other: each is one step on one hash, with ban, minute, day
-- and strike. gateway/limits/step.ts does the same, line by line, and says why.
--
-- KEYS: the quotas' hashes
-- ARGV: the time in milliseconds, for tests only, or ''; then for each hash
--       "seen;reckoned;ends;cost,limit a minute,limit a day,ban rules;banned;owed;key":
--       seen is what the gateway has seen, as the field c, or nothing; reckoned what becomes of that if the
--       request is let in, or nothing; ends the second in which its minute ends; no limit is -1; ban rules
--       are "strikes,within,grace,for,factor,atMost,memory" or nothing; banned is the end of the ban that the
--       gateway has seen, or 0; owed what it has admitted without the store, or nothing:
--       "minute,used,day,used,generation,gateway,number"
-- Fields: c: "minute,used,day,used,givenBack,generation", and ",k" if there are fields of keys;
--         k:<key>: "refusedAt,bannedUntil,bans,strikes" of a key;
--         s:<gateway>: which number it has settled last
-- Returns: "seconds,micros", and for each hash: '', if what the gateway has seen has become what it says; else
--          "minute,used,day,used,givenBack,generation", for who is let in and has no strikes; for others
--          besides ",verdict,bannedUntil,strikes,bansNow"; or an error, if that one hash is damaged
--
-- In instructions, by callgrind: an argument costs 1,400, a list of 11 numbers as answer 10,000 (one text 500),
-- a number made into a text 3,000 (by format 1,900), a text into a number by tonumber 1,800 (by "+ 0" 800).
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

local function decide(hash, ask)
  local seen, reckoned, ends, rest = match(ask, '^([^;]*);([^;]*);(%d+);()')
  local kept = call('HGET', hash, 'c')

  -- Where nothing has happened since the gateway has asked last, it has reckoned already: half the work.
  -- A clock that is set back a little doesn't begin a window again.
  if reckoned ~= '' and kept == seen then
    local left = ends - seconds
    if left > 0 and left <= 120 then
      call('HSET', hash, 'c', reckoned)
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
  if kept then
    m, mu, d, du, db, g, mark = match(kept, fields)
    local known = m + 0
    if known == minute or known == minute + 1 then minute, minuteUsed, rolled = known, mu + 0, false end
    known = d + 0
    if known == day or known == day + 1 then
      day, dayUsed, dayGivenBack, rolledDay = known, du + 0, db + 0, false
    end
    generation = g + 0
  end
  local refusedAt, bannedUntil, bans, strikes = 0, 0, 0, ''
  local conduct = mark == ',k' and call('HGET', hash, conductField)
  if conduct then
    local a, b, c, s = match(conduct, '^(%d+),(%d+),(%d+),(%d*)$')
    refusedAt, bannedUntil, bans, strikes = a + 0, b + 0, c + 0, s
  end

  -- Heal: the larger of what is kept and what the gateway has seen; mostly they are the same text.
  local healed, conductChanged = false, false
  if seen ~= '' and (seen ~= kept or seenBan > 0) then
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

  -- Settle: what was admitted without the store comes on top, once, however often it is told.
  if owed ~= '' then
    local m, mu, d, du, g, by, number =
      match(owed, '^(%d+),(%d+),(%d+),(%d+),(%d+),([^,]+),(%d+)$')
    local known = tonumber(call('HGET', hash, 's:' .. by) or 0)
    if number + 0 > known and g + 0 >= generation then
      call('HSET', hash, 's:' .. by, number)
      if tonumber(m) == minute then minuteUsed, healed = minuteUsed + tonumber(mu), true end
      if tonumber(d) == day then dayUsed, healed = dayUsed + tonumber(du), true end
    end
  end

  -- Decide: 0 admitted, 1 refused, 2 banned.
  local verdict, bansNow, remembered = 0, 0, 2 * 86400000
  local fits = cost == 0
    or ((perMinute < 0 or minuteUsed + cost <= perMinute)
      and (perDay < 0 or dayUsed - dayGivenBack + cost <= perDay))
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
        -- Thirteen digits a strike, so that the oldest of the latest ones is where the text begins.
        strikes = string.sub(strikes .. format('%013d', now), -13 * most)
        if #strikes == 13 * most and now - tonumber(string.sub(strikes, 1, 13)) < tonumber(within) then
          local follows = bannedUntil > 0 and now - bannedUntil <= tonumber(memory)
          bans = follows and bans + 1 or 0
          bannedUntil = now
            + floor(math.min(tonumber(lasts) * tonumber(factor) ^ bans, tonumber(atMost)))
          strikes, refusedAt, verdict, bansNow = '', 0, 2, 1
        end
      end
    end
  elseif cost > 0 then
    minuteUsed = minuteUsed + cost
    dayUsed = dayUsed + cost
    if refusedAt ~= 0 then refusedAt, conductChanged = 0, true end
  end

  -- Keep, until nothing of it can matter any more.
  local counted = cost > 0 and verdict == 0
  local counters
  if rolled or rolledDay or healed then
    counters = format('%.0f,%.0f,%.0f,%.0f,%.0f,%.0f',
      minute, minuteUsed, day, dayUsed, dayGivenBack, generation)
  elseif counted then
    counters = m .. ',' .. format('%d', minuteUsed) .. ',' .. d .. ',' .. format('%d', dayUsed)
      .. ',' .. db .. ',' .. g
  else
    counters = string.sub(kept, 1, #kept - #mark)
  end
  local marked = conductChanged and mark == ''
  if marked then mark = ',k' end
  local changed = counted or healed or marked
  if changed then call('HSET', hash, 'c', counters .. mark) end
  if conductChanged then
    call('HSET', hash, conductField,
      format('%.0f,%.0f,%.0f,%s', refusedAt, bannedUntil, bans, strikes))
  end
  if conductChanged or rolled and changed then
    local lasts = (day + 1) * 86400000 - now
    if bannedUntil > 0 then lasts = math.max(lasts, bannedUntil + remembered - now) end
    if strikes ~= '' then lasts = math.max(lasts, remembered) end
    -- Never sooner than it was to be kept for another key of the same account.
    if call('PTTL', hash) < lasts then call('PEXPIRE', hash, lasts) end
  end
  if verdict == 0 and strikes == '' then return counters end
  return counters .. format(',%d,%.0f,%d,%d', verdict, bannedUntil, #strikes / 13, bansNow)
end

local answers = { seconds .. ',' .. micros }
for i, hash in ipairs(KEYS) do
  local isDone, answer = pcall(decide, hash, ARGV[i + 1])
  if not isDone then
    local isOfOne = match(answer, 'WRONGTYPE') or match(answer, 'user_script:%d')
    -- What hinders every write has hindered the first: nothing is counted yet.
    if not isOfOne then return redis.error_reply(answer) end
    answer = redis.error_reply('ERR ' .. answer)
  end
  answers[i + 1] = answer
end
return answers
