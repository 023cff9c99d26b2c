-- Adds lines to the index of keys, each if its key still has the version that was read, and notes that all are made up
-- to a version.
-- KEYS: lines, lined, versions
-- ARGV: the version that was noted, the version to note; then for each line: id, version, line
for i = 3, #ARGV, 3 do
  if tonumber(redis.call('ZSCORE', KEYS[3], ARGV[i]) or 0) == tonumber(ARGV[i + 1]) then
    redis.call('ZADD', KEYS[1], 0, ARGV[i + 2])
  end
end
-- Something else has noted a version meanwhile: the next round sees what is missing.
if (redis.call('GET', KEYS[2]) or '0') == ARGV[1] then redis.call('SET', KEYS[2], ARGV[2]) end
