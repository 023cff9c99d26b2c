-- The time in milliseconds. ARGV[1] is that of a test, or '' for Redis' clock.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
