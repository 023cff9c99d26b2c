-- Notes the state of a subject, if one is given, and adds a notice to queues, if one is given: only if the state is
-- another one, and if no notice with the same id (or, if it yields, with the same mark) was added lately.
-- Answers whether it was added, and the types of older notices that had to go.
-- KEYS: states; addresses; the memory of the id, and of the mark; then of each queue: items, due, age
-- ARGV: the time, see now.lua; the subject or '', its state, its teller; the id or '', the item, how long the id is
--       remembered, '1' if it yields; the most of a queue, how long unused queues are kept; then of each queue: its address
--       and the version of that
local states, addresses = KEYS[1], KEYS[2]
local subject, state, id, item = ARGV[2], ARGV[3], ARGV[5], ARGV[6]
--include now.lua

if subject ~= '' then
  local before = redis.call('HGET', states, subject)
  if (before and before:match('^[^\n]*') or '') == state then return { 0 } end
  if state == '' then
    redis.call('HDEL', states, subject)
  else
    redis.call('HSET', states, subject, state .. '\n' .. ARGV[4])
    redis.call('PEXPIRE', states, ARGV[10])
  end
end
if id == '' or redis.call('EXISTS', KEYS[3]) == 1 then return { 0 } end
if ARGV[8] == '1' and redis.call('EXISTS', KEYS[4]) == 1 then return { 0 } end
for i = 3, 4 do redis.call('SET', KEYS[i], 1, 'PX', ARGV[7]) end

local answer = { 1 }
for queue = 0, (#KEYS - 4) / 3 - 1 do
  local items, due, age = KEYS[5 + 3 * queue], KEYS[6 + 3 * queue], KEYS[7 + 3 * queue]
  local address, version = ARGV[11 + 2 * queue], ARGV[12 + 2 * queue]
  local ended = redis.call('HGET', addresses, 'ended ' .. address)
  if not ended or ended:match('^%S+') ~= version then
    redis.call('HSET', items, id, item)
    redis.call('ZADD', due, now, id)
    redis.call('ZADD', age, now, id)
    if redis.call('ZCARD', age) > tonumber(ARGV[9]) then
      local oldest = redis.call('ZRANGE', age, 0, 0)[1]
      if redis.call('ZREM', due, oldest) == 1 then
        redis.call('HINCRBY', addresses, 'dropped ' .. address, 1)
        table.insert(answer, cjson.decode(redis.call('HGET', items, oldest)).type)
      end
      redis.call('ZREM', age, oldest)
      redis.call('HDEL', items, oldest)
    end
    for _, name in ipairs({ items, due, age, addresses }) do redis.call('PEXPIRE', name, ARGV[10]) end
  end
end
return answer
