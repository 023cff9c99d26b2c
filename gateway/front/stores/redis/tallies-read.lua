-- Reads some fields of a day: { the next cursor, name, \0, value, \0, name, ... } with all of them in one text, which
-- costs a gateway a fifth of what as many texts would.
-- KEYS: the day   ARGV: the cursor, a pattern for names, the number of fields
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
return { page[1], table.concat(page[2], '\0') }
