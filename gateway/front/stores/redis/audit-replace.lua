-- Replaces the audit by a new one, with the lines that were added to the old one meanwhile.
-- KEYS: the audit, the new one   ARGV: the id of the last line of the old audit that the new one has
for _, line in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+')) do
  redis.call('XADD', KEYS[2], '*', unpack(line[2]))
end
redis.call('RENAME', KEYS[2], KEYS[1])
