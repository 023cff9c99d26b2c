-- Removes lines from the index of keys, each if its key still has the version that was read.
-- KEYS: lines, versions   ARGV: for each line: id, version, line
for i = 1, #ARGV, 3 do
  if tonumber(redis.call('ZSCORE', KEYS[2], ARGV[i]) or 0) == tonumber(ARGV[i + 1]) then
    redis.call('ZREM', KEYS[1], ARGV[i + 2])
  end
end
