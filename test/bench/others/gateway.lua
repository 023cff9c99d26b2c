-- The gateway that OpenResty's users write: who is this, is there room, and on to the backend.
local redis = require 'nginx.redis'
local lrucache = require 'resty.lrucache'

local rememberSeconds = 60
local minuteSeconds, daySeconds = 60, 86400

-- Callers by token, in the worker's memory; strangers too, so that they don't reach Redis each time.
local callers = lrucache.new(100000)
local stranger = {}

local folder = debug.getinfo(1, 'S').source:match('^@(.*/)')
local file = assert(io.open(folder .. 'count.lua'))
local countScript = file:read('*a')
file:close()
local countSha = ngx.sha1_bin(countScript):gsub('.', function(byte)
  return ('%02x'):format(byte:byte())
end)

local gateway = {}

local function refuse(status, code, message)
  local body = ('{"code":"%s","message":"%s","status":%d}'):format(code, message, status)
  ngx.status = status
  ngx.header['Content-Type'] = 'application/json'
  ngx.header['Content-Length'] = #body
  ngx.print(body)
  return ngx.exit(status)
end

local function connect()
  local client = redis:new()
  client:set_timeout(1000)
  local isThere = client:connect('127.0.0.1', tonumber(ngx.var.redis_port))
  if not isThere then return refuse(503, 'unavailable', 'The limits are out of reach') end
  return client
end

-- Redis has each key by the hash of its token: id, plan, and the limits of minute and day.
local function look(client, token)
  local found = client:hmget('key:' .. ngx.encode_base64(ngx.sha1_bin(token)),
    'id', 'plan', 'perMinute', 'perDay')
  if not found then return refuse(503, 'unavailable', 'The keys are out of reach') end
  local caller = stranger
  if found[1] ~= ngx.null then
    local id = found[1]
    caller = { id = id, plan = found[2], perMinute = tonumber(found[3]), perDay = tonumber(found[4]),
      ban = '{' .. id .. '}:ban', minute = '{' .. id .. '}:minute:', day = '{' .. id .. '}:day:' }
  end
  callers:set(token, caller, rememberSeconds)
  return caller
end

local function count(client, caller, now)
  local minute, day = math.floor(now / minuteSeconds), math.floor(now / daySeconds)
  local counted, fault = client:evalsha(countSha, 3,
    caller.ban, caller.minute .. minute, caller.day .. day,
    caller.perMinute, caller.perDay, minuteSeconds - now % minuteSeconds, daySeconds - now % daySeconds)
  if not counted and fault and fault:find('NOSCRIPT', 1, true) then
    client:script('LOAD', countScript)
    return count(client, caller, now)
  end
  if not counted then return refuse(503, 'unavailable', 'The limits are out of reach') end
  return unpack(counted)
end

-- The headers tell of the window that will stop the caller first.
local function announce(caller, now, minuteUsed, dayUsed)
  local limit, left, window = caller.perMinute, caller.perMinute - minuteUsed, minuteSeconds
  if caller.perDay - dayUsed < left then
    limit, left, window = caller.perDay, caller.perDay - dayUsed, daySeconds
  end
  local header = ngx.header
  header['X-RateLimit-Limit'] = limit
  header['X-RateLimit-Remaining'] = left
  header['X-RateLimit-Reset'] = now - now % window + window
end

function gateway.admit()
  local authorization = ngx.var.http_authorization
  local token = authorization and authorization:match('^Bearer (.+)$')
  if not token then return refuse(401, 'missing_api_key', 'Send a key') end
  local caller = callers:get(token)
  local client
  if not caller then
    client = connect()
    caller = look(client, token)
  end
  if caller == stranger then
    if client then client:set_keepalive(60000, 128) end
    return refuse(401, 'invalid_api_key', 'There is no such key')
  end
  client = client or connect()
  local now = ngx.time()
  local verdict, minuteUsed, dayUsed, banSeconds = count(client, caller, now)
  client:set_keepalive(60000, 128)
  announce(caller, now, minuteUsed, dayUsed)
  if verdict == 0 then
    ngx.var.caller_id, ngx.var.caller_plan = caller.id, caller.plan
    return
  end
  if verdict == 3 then
    ngx.header['Retry-After'] = banSeconds
    return refuse(429, 'key_banned', 'The key is banned for now')
  end
  local window = verdict == 1 and minuteSeconds or daySeconds
  ngx.header['Retry-After'] = window - now % window
  return refuse(429, 'rate_limit_exceeded', 'The limit is used up')
end

return gateway
