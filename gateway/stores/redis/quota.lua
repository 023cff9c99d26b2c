-- Decides one request and counts it: ban, minute, day and strike in one step on one hash.
-- gateway/limits/step.ts does the same, line by line, and says why.
--
-- KEYS: the quota's hash
-- ARGV: key, cost, limit a minute (-1: none), limit a day (-1: none),
--       ban rules "strikes,within,grace,for,factor,atMost,memory" or '',
--       what the gateway has seen, as the field c or '', and the end of the ban it has seen or 0,
--       the time, for tests only, or '',
--       what the gateway has admitted without the store,
--       "minute,used,day,used,generation,gateway,number", or ''
-- Fields: c: "minute,used,day,used,givenBack,generation";
--         k:<key>: "refusedAt,bannedUntil,bans,strikes" of a key;
--         s:<gateway>: which number it has settled last
local now
if ARGV[8] == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(ARGV[8])
end
local conductField = 'k:' .. ARGV[1]
local cost, perMinute, perDay = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HMGET', KEYS[1], 'c', conductField)
local counters = '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)$'

-- Roll: new windows where the old ones have ended.
local minute, day = math.floor(now / 60000), math.floor(now / 86400000)
local minuteUsed, dayUsed, dayGivenBack, generation = 0, 0, 0, 0
local rolled = true
if kept[1] then
  local m, mu, d, du, db, g = string.match(kept[1], counters)
  m, d = tonumber(m), tonumber(d)
  -- A clock that is set back a little doesn't begin a window again.
  if m == minute or m == minute + 1 then minute, minuteUsed, rolled = m, tonumber(mu), false end
  if d == day or d == day + 1 then day, dayUsed, dayGivenBack = d, tonumber(du), tonumber(db) end
  generation = tonumber(g)
end
local refusedAt, bannedUntil, bans, strikes = 0, 0, 0, ''
if kept[2] then
  local a, b, c, s = string.match(kept[2], '^(%d+),(%d+),(%d+),(%d*)$')
  refusedAt, bannedUntil, bans, strikes = tonumber(a), tonumber(b), tonumber(c), s
end

-- Heal: the larger of what is kept and what the gateway has seen; mostly they are the same text.
local healed, conductChanged = false, false
if ARGV[6] ~= '' and (ARGV[6] ~= kept[1] or ARGV[7] ~= '0') then
  local m, mu, d, du, db, g = string.match(ARGV[6], counters)
  mu, du, db, g = tonumber(mu), tonumber(du), tonumber(db), tonumber(g)
  if g >= generation then
    if g > generation then
      conductChanged = bannedUntil > 0
      generation, minuteUsed, dayUsed, dayGivenBack, bannedUntil = g, 0, 0, 0, 0
      healed = true
    end
    if tonumber(m) == minute and mu > minuteUsed then minuteUsed, healed = mu, true end
    if tonumber(d) == day then
      if du > dayUsed then dayUsed, healed = du, true end
      if db > dayGivenBack then dayGivenBack, healed = db, true end
    end
    local seenBan = tonumber(ARGV[7])
    if seenBan > bannedUntil then bannedUntil, conductChanged = seenBan, true end
  end
end

-- Settle: what was admitted without the store comes on top, once, however often it is told.
if ARGV[9] ~= '' then
  local m, mu, d, du, g, by, number =
    string.match(ARGV[9], '^(%d+),(%d+),(%d+),(%d+),(%d+),([^,]+),(%d+)$')
  local known = tonumber(redis.call('HGET', KEYS[1], 's:' .. by) or 0)
  if tonumber(number) > known and tonumber(g) >= generation then
    redis.call('HSET', KEYS[1], 's:' .. by, number)
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
  if ARGV[5] ~= '' then
    local most, within, grace, lasts, factor, atMost, memory =
      string.match(ARGV[5], '^(%d+),(%d+),(%d+),(%d+),([%d.]+),(%d+),(%d+)$')
    most, remembered = tonumber(most), math.max(remembered, tonumber(memory))
    if refusedAt == 0 then refusedAt, conductChanged = now, true end
    if now - refusedAt > tonumber(grace) then
      conductChanged = true
      -- Thirteen digits a strike, so that the oldest of the latest ones is where the text begins.
      strikes = string.sub(strikes .. string.format('%013d', now), -13 * most)
      if #strikes == 13 * most and now - tonumber(string.sub(strikes, 1, 13)) < tonumber(within) then
        local follows = bannedUntil > 0 and now - bannedUntil <= tonumber(memory)
        bans = follows and bans + 1 or 0
        bannedUntil = now
          + math.floor(math.min(tonumber(lasts) * tonumber(factor) ^ bans, tonumber(atMost)))
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
if (cost > 0 and verdict == 0) or healed then
  redis.call('HSET', KEYS[1], 'c', minute .. ',' .. minuteUsed .. ',' .. day .. ',' .. dayUsed
    .. ',' .. dayGivenBack .. ',' .. generation)
end
if conductChanged then
  redis.call('HSET', KEYS[1], conductField,
    string.format('%.0f,%.0f,%.0f,%s', refusedAt, bannedUntil, bans, strikes))
end
if rolled or conductChanged then
  local lasts = (day + 1) * 86400000 - now
  if bannedUntil > 0 then lasts = math.max(lasts, bannedUntil + remembered - now) end
  if strikes ~= '' then lasts = math.max(lasts, remembered) end
  -- Never sooner than it was to be kept for another key of the same account.
  if redis.call('PTTL', KEYS[1]) < lasts then redis.call('PEXPIRE', KEYS[1], lasts) end
end
return { verdict, now, minute, minuteUsed, day, dayUsed, dayGivenBack, generation, bannedUntil, #strikes / 13, bansNow }
