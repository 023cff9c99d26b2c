-- The key of a secret: { record, version }, or nothing.
-- KEYS: secrets, records, versions, pending   ARGV: hash
local id = redis.call('HGET', KEYS[1], ARGV[1])
if not id then return false end
local record = redis.call('HGET', KEYS[2], id)
if not record then return false end
-- A key of an import that is still running, or that died, isn't there yet.
if redis.call('HEXISTS', KEYS[4], id) == 1 then return false end
return { record, redis.call('ZSCORE', KEYS[3], id) }
