-- Reads a key and its version in one step: { record, version }, or nothing.
-- KEYS: secrets, records, versions, pending   ARGV: 'hash' or 'id', and its value
local id = ARGV[2]
if ARGV[1] == 'hash' then id = redis.call('HGET', KEYS[1], id) end
if not id then return false end
local record = redis.call('HGET', KEYS[2], id)
-- A key of an unfinished import isn't visible yet.
if not record or redis.call('HEXISTS', KEYS[4], id) == 1 then return false end
return { record, redis.call('ZSCORE', KEYS[3], id) }
