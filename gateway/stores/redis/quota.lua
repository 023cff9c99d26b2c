-- Decides one request and counts it: ban, minute, day and strike in one step on one hash.
-- gateway/limits/step.ts does the same, line by line, and says why.
--
-- KEYS: the quota's hash
-- ARGV: key, cost, limit a minute (-1: none), limit a day (-1: none),
--       ban rules "strikes,within,grace,for,factor,atMost,memory" or '',
--       what the gateway has seen "minute,used,day,used,givenBack,generation,bannedUntil" or '',
--       the time, for tests only, or ''
-- Fields: m, mu: the minute and what of it is used; d, du, db: the day, used, given back;
--         g: generation; k:<key>: "refusedAt,bannedUntil,bans,strikes" of a key
local now
if ARGV[7] == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(ARGV[7])
end
local conductField = 'k:' .. ARGV[1]
local cost, perMinute, perDay = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local h = redis.call('HMGET', KEYS[1], 'm', 'mu', 'd', 'du', 'db', 'g', conductField)

-- Roll: new windows where the old ones have ended.
local minute, day = math.floor(now / 60000), math.floor(now / 86400000)
local minuteUsed, dayUsed, dayGivenBack = 0, 0, 0
local rolled = true
if tonumber(h[1]) == minute then
  minuteUsed = tonumber(h[2])
  rolled = false
end
if tonumber(h[3]) == day then dayUsed, dayGivenBack = tonumber(h[4]), tonumber(h[5]) end
local generation = tonumber(h[6]) or 0
local refusedAt, bannedUntil, bans, strikes = 0, 0, 0, ''
if h[7] then
  local a, b, c, d = string.match(h[7], '^(%d+),(%d+),(%d+),(%d*)$')
  refusedAt, bannedUntil, bans, strikes = tonumber(a), tonumber(b), tonumber(c), d
end

-- Heal: the larger of what is kept and what the gateway has seen.
local healed, healedBan = false, false
if ARGV[6] ~= '' then
  local sm, smu, sd, sdu, sdb, sg, sb =
    string.match(ARGV[6], '^(%d+),(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)$')
  sg = tonumber(sg)
  if sg >= generation then
    if sg > generation then
      generation, minuteUsed, dayUsed, dayGivenBack, bannedUntil = sg, 0, 0, 0, 0
      healed = true
    end
    smu, sdu, sdb = tonumber(smu), tonumber(sdu), tonumber(sdb)
    if tonumber(sm) == minute and smu > minuteUsed then minuteUsed, healed = smu, true end
    if tonumber(sd) == day then
      if sdu > dayUsed then dayUsed, healed = sdu, true end
      if sdb > dayGivenBack then dayGivenBack, healed = sdb, true end
    end
    sb = tonumber(sb)
    if sb > bannedUntil then bannedUntil, healedBan = sb, true end
  end
end

-- Decide: 0 admitted, 1 refused, 2 banned.
local verdict, bansNow, remembered = 0, 0, 2 * 86400000
local conductChanged = healedBan
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
  redis.call('HSET', KEYS[1], 'm', minute, 'mu', minuteUsed, 'd', day, 'du', dayUsed,
    'db', dayGivenBack, 'g', generation)
end
if conductChanged then
  redis.call('HSET', KEYS[1], conductField,
    string.format('%d,%d,%d,%s', refusedAt, bannedUntil, bans, strikes))
end
if rolled or conductChanged then
  local lasts = (day + 1) * 86400000 - now
  if bannedUntil > 0 then lasts = math.max(lasts, bannedUntil + remembered - now) end
  redis.call('PEXPIRE', KEYS[1], lasts)
end
return { verdict, now, minuteUsed, dayUsed, dayGivenBack, generation, bannedUntil, #strikes / 13, bansNow }
