-- Decides requests and counts them, one after the other: each is one step on one hash, with ban, windows and strike.
-- Mostly the gateway has predicted the outcome, and it is only compared; decide.lua decides all others.
--
-- KEYS: the quotas' hashes
-- ARGV: the time, see time.lua; then for each hash
--       "seen;till;expected;top;cost,limits,brief,ban rules;more;banned;owed;parts;key":
--       seen: the counters that the gateway saw last, in the form of the field c, or nothing
--       till: the second at which the shortest of the expected windows ends
--       expected: the counters after admitting the request, or nothing
--       top: the largest total that has room in these windows
--       limits: of each window, in the order of the list; -1 is unlimited
--       brief: 1 if brief windows are counted
--       ban rules: "strikes,within,grace,for,factor,atMost,memory" or nothing
--       more: nothing, or "least|included": the points that must have room, and of each window the limit beyond which
--             points are metered
--       banned: the end of the ban that the gateway has seen, or 0
--       owed: the points that it admitted without the store, or nothing: 
--             "counters&part=counters&included=limits,gateway,number"
--       parts: of each operation and cap "part|limits|brief|seen", with & between them
-- Fields: c: the counters;
--         k:<key>: "refusedAt,bannedUntil,bans,strikes,strikesSince" of a key;
--         s:<gateway>: the number of its last settled report
--         g: "window:number:points," that operators have granted, n: each grant; with them c has ",k"
--         op:<operation>, cap:<key>: the counters of a part
--         p: "day,points;" for each day that the counters have left, for the ledger
--         b: "day,points;" for each day with points that weren't included
--         a:<gateway>: the adjustments that it has made, see adjusted.lua
--         r: the generation that the last reset began
--         u, pre:taken, z: what was bought in advance, see purse.lua
-- Returns: "seconds,micros", and for each hash one of
--          '': the counters are now the expected ones
--          "total": those with another total
--          "counters": admitted, and the key has no strikes
--          "counters;verdict,bannedUntil,strikes,bansNow;window:points,;counters of parts, with | between them": all others
--          an error: this hash is damaged

--include time.lua
--with-more --include rooms.lua
--with-more local purseAsked, purseAnswer
local try = redis.pcall
local answers, decide = { seconds .. ',' .. micros }, nil
for i = 1, #KEYS do
  local hash, ask, answer, failure = KEYS[i], ARGV[i + 1], nil, nil
  --with-more placesAsked, purseAsked, purseAnswer = ARGV[#KEYS + i + 1], ARGV[2 * #KEYS + i + 1], ''
  local stored = try('HGET', hash, 'c')
  if type(stored) == 'table' then
    failure = stored.err
  else
    -- Searches, because a pattern costs 40 instructions a character.
    local isSeen = stored and find(ask, stored, 1, true) == 1
    local last = isSeen and #stored or find(ask, ';', 1, true) - 1
    local till, from = match(ask, '^;(%d+);()', last + 1)
    if not till then
      -- The stored text is only the beginning of the one that was seen.
      isSeen, last = false, find(ask, ';', 1, true) - 1
      till, from = match(ask, '^;(%d+);()', last + 1)
    end
    local to = find(ask, ';', from, true)
    local left, text = till - seconds, nil
    -- A clock that is set back by less than a window, a minute, doesn't begin the earlier one again.
    if stored and to > from and left > 0 and left <= 120 then
      text = sub(ask, from, to - 1)
      -- No other gateway has written since: the gateway's own calculation is right.
      if isSeen then
        answer = ''
      else
        -- Others have, and in the same windows, so that the totals say all.
        local comma, expectedComma = find(stored, ',', 1, true), find(text, ',', 1, true)
        if comma and sub(stored, comma) == sub(text, expectedComma) then
          local top, cost = match(ask, '^(%d+);(%d+)', to + 1)
          local total = sub(stored, 1, comma - 1) + cost
          local healed = sub(text, 1, expectedComma - 1) + 0
          if healed > total then total = healed end
          if total - top <= 0 then
            answer = format('%.0f', total)
            text = answer .. sub(stored, comma)
          end
        end
      end
    end
    --with-more if answer then rooms = roomsIn(hash) end
    --with-more if answer and rooms.crowded then answer = nil end
    --with-more local kept
    --with-more if answer and purseAsked ~= '' then
    --with-more   kept = call('HMGET', hash, 'u', 'pre:taken')
    --with-more   -- decide.lua knows what to do where others have taken or topped up, writes were lost, or one is damaged.
    --with-more   local isKnown = find(purseAsked, '|' .. (kept[1] or '') .. '|', 1, true)
    --with-more   if not isKnown or find(kept[2] or '', '[^%d,-]') then answer = nil end
    --with-more end
    if answer then
      local written = try('HSET', hash, 'c', text)
      failure = type(written) == 'table' and written.err
      --with-more if not failure then
      --with-more   takePlaces(hash, rooms, true)
      --with-more   if kept then purseAnswer = (kept[1] or '0,0,0,0') .. ',0;' .. (kept[2] or '') .. '@' end
      --with-more end
    else
      if not decide then
        --include decide.lua
      end
      local isDone
      isDone, answer = pcall(decide, hash, ask, sub(ask, 1, last), stored, to)
      failure = not isDone and answer
    end
  end
  --with-more if not failure then answer = textOfRooms(rooms) .. purseAnswer .. answer end
  if failure then
    local isOfOne = match(failure, 'WRONGTYPE') or match(failure, 'user_script:%d')
    -- An error that stops every write has stopped the first one: nothing is counted yet.
    if not isOfOne then return redis.error_reply(failure) end
    answer = redis.error_reply('ERR ' .. failure)
  end
  answers[i + 1] = answer
end
return answers
