-- ARGV[1]: "time;days": the time in milliseconds for tests, or nothing for Redis' own; the first days of the months around it
local call, floor, format, match, sub, find =
  redis.call, math.floor, string.format, string.match, string.sub, string.find
local seconds, micros
if sub(ARGV[1], 1, 1) == ';' then
  local time = call('TIME')
  seconds, micros = time[1], time[2]
else
  local testTime = match(ARGV[1], '^%d+')
  seconds, micros = floor(testTime / 1000), testTime % 1000 * 1000
end
local now = seconds * 1000 + floor(micros / 1000)
