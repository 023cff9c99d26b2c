-- One beat of a gateway, its leave (without a line), or a look at the clock (without an id).
-- Answers the time, the number of configurations, and news for this gateway: since when they differ, or 'agree'.
-- KEYS: beats, lines, state
-- ARGV: the gateway's id and its line, which begins with its configuration's shared hash; the silence after which
--       gateways are gone, how long configurations may differ before it is news, the most lines, how long all of
--       it is kept without beats; the time, or '' for Redis' clock
local beats, lines, state = KEYS[1], KEYS[2], KEYS[3]
local id, line = ARGV[1], ARGV[2]
local now = tonumber(ARGV[7])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local changed = false
if id ~= '' and line == '' then
  redis.call('ZREM', beats, id)
  changed = redis.call('HDEL', lines, id) == 1
elseif id ~= '' then
  redis.call('ZADD', beats, now, id)
  local stored = redis.call('HGET', lines, id)
  if stored ~= line and (stored or redis.call('HLEN', lines) < tonumber(ARGV[5])) then
    redis.call('HSET', lines, id, line)
    changed = true
  end
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', beats, '-inf', now - ARGV[3])) do
  redis.call('ZREM', beats, gone)
  redis.call('HDEL', lines, gone)
  changed = true
end

local configs = tonumber(redis.call('HGET', state, 'configs') or 0)
if changed then
  local seen = {}
  configs = 0
  for _, each in ipairs(redis.call('HVALS', lines)) do
    local hash = each:match('^%w+')
    if hash and not seen[hash] then
      seen[hash] = true
      configs = configs + 1
    end
  end
  redis.call('HSET', state, 'configs', configs)
end

local news = ''
if id ~= '' and line ~= '' then
  local since = redis.call('HGET', state, 'differSince')
  if configs > 1 and not since then
    redis.call('HSET', state, 'differSince', now)
  elseif configs > 1 and now - since >= tonumber(ARGV[4]) then
    redis.call('HSETNX', state, 'noticedBy', id)
    -- Again at each beat, because an answer may be lost.
    if redis.call('HGET', state, 'noticedBy') == id then news = since end
  elseif configs <= 1 and since then
    if redis.call('HDEL', state, 'noticedBy') == 1 then news = 'agree' end
    redis.call('HDEL', state, 'differSince')
  end
  for _, name in ipairs(KEYS) do redis.call('PEXPIRE', name, ARGV[6]) end
end
return { now, configs, news }
