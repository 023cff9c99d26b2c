-- Puts an audit that was made beside it in the place of one, with what was added to that one meanwhile.
-- KEYS: the audit, the new one   ARGV: the last line of the audit that is in the new one
for _, line in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+')) do
  redis.call('XADD', KEYS[2], line[1], unpack(line[2]))
end
redis.call('RENAME', KEYS[2], KEYS[1])
