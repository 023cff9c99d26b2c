-- Reads some fields of a day: their values in their order, with nothing for a field that isn't there.
-- KEYS: the day   ARGV: the names
return redis.call('HMGET', KEYS[1], unpack(ARGV))
