-- Answers keys whose lines are missing in the index: { from, up to, id, version, record, id, ... }, nothing if there
-- are none. `from` is the version up to which all lines are made, `up to` that of these keys.
-- KEYS: records, versions, version, lines, lined   ARGV: the most keys
local latest = tonumber(redis.call('GET', KEYS[3]) or 0)
local from = redis.call('GET', KEYS[5]) or '0'
-- Each key has a line: if there are fewer, lines are lost.
if redis.call('ZCARD', KEYS[4]) < redis.call('ZCARD', KEYS[2]) and tonumber(from) >= latest then
  redis.call('DEL', KEYS[5])
  from = '0'
end
if tonumber(from) >= latest then return {} end

local flat = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
if #flat == 0 then
  redis.call('SET', KEYS[5], string.format('%.0f', latest))
  return {}
end
local last = flat[#flat]
local ids, found = {}, {}
for i = 1, #flat, 2 do
  if flat[i + 1] ~= last then
    ids[#ids + 1] = flat[i]
    found[#found + 1] = flat[i + 1]
  end
end
-- Keys that were copied may share a version: all of them at once.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], last, last)) do
  ids[#ids + 1] = id
  found[#found + 1] = last
end
local answer = { from, last }
for i, record in ipairs(redis.call('HMGET', KEYS[1], unpack(ids))) do
  answer[#answer + 1] = ids[i]
  answer[#answer + 1] = found[i]
  answer[#answer + 1] = record or ''
end
return answer
