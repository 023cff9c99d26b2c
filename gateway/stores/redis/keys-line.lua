-- Adds lines to the index of keys, and notes that all are made up to a version.
-- KEYS: lines, lined, indexed   ARGV: the version that was noted, the version to note; then for each line: id, line
for i = 3, #ARGV, 2 do
  redis.call('SADD', KEYS[3], ARGV[i])
  redis.call('ZADD', KEYS[1], 0, ARGV[i + 1])
end
-- Something else has noted a version meanwhile: the next round sees what is missing.
if (redis.call('GET', KEYS[2]) or '0') == ARGV[1] then redis.call('SET', KEYS[2], ARGV[2]) end
