/** What each setting is for, as editors tell it; beside it they tell what may stand there, and what is there unless told. */
export const descriptions: Readonly<Record<string, string>> = {
  listen: 'Where callers reach the gateway.',
  'listen.host':
    'The address to listen on for callers; 0.0.0.0 is every one that this machine has.',
  'listen.port': 'The port for callers; 0 is any that is free.',
  admin: 'Where operators reach the gateway: health, metrics, and with ADMIN_TOKEN the rest.',
  'admin.host': 'The address to listen on for operators. Beyond this machine it needs ADMIN_TOKEN.',
  'admin.port': 'The port for operators; 0 is any that is free.',
  'admin.hosts':
    'Names that operators may ask the admin address by, beside localhost and addresses, while only this machine reaches it.',

  store: 'Where keys, counters and bans are kept.',
  'store.file':
    'The SQLite file of a gateway by itself. A relative path starts at the working directory.',
  'store.redis': 'The Redis that several gateways share; empty for the file.',
  'store.redis.cluster': 'Some nodes of a Redis Cluster; the others are found by them.',
  'store.redis.sentinels': 'Sentinels that know which Redis is the master.',
  'store.redis.name': 'What Sentinels call the master.',
  'store.redis.username': 'The user of Redis; empty for none.',
  'store.redis.password': 'The password of Redis; empty for none.',
  'store.redis.tls': 'Whether connections to Redis are encrypted.',
  'store.redis.tls.ca':
    'A file with the certificates to believe, in place of those that everybody believes.',
  'store.redis.sentinelUsername': 'The user of the Sentinels; empty for none.',
  'store.redis.sentinelPassword': 'The password of the Sentinels; empty for none.',
  'store.prefix': 'What every name in Redis starts with.',
  'store.timeout': 'How long a request may wait for Redis.',
  'store.whenUnreachable':
    'What decides while Redis is out of reach: each gateway for its share (local), nobody (allow), or nobody is let in (deny).',

  plans: 'The plans that keys have, by name.',
  'plans.NAME': 'What a key of this plan may do. Of a custom plan, each key brings its own limits.',
  'plans.NAME.perMinute': 'Points that a key may use up in a minute; minutes begin at second 0.',
  'plans.NAME.perDay': 'Points that a key may use up in a day; days begin at midnight, UTC.',
  'plans.NAME.bans': 'Whether keys of this plan are banned for going on after refusals.',
  'plans.NAME.limits': 'Each key brings its own limits.',
  strangers: 'How many requests without a valid key an address may send (IPv6: a /64).',
  'strangers.perMinute': 'Requests without a valid key, per address and minute.',
  'strangers.perDay': 'Requests without a valid key, per address and day.',

  bans: 'When a key that goes on after refusals is banned, and for how long.',
  'bans.strikes': 'How many strikes ban a key.',
  'bans.within': 'The time that these strikes must come within.',
  'bans.grace':
    'A refusal is a strike if it comes later than this after the first one of an episode.',
  'bans.for': 'How long a first ban lasts.',
  'bans.factor': 'How many times as long as the one before a further ban lasts.',
  'bans.atMost': 'The longest that a ban lasts.',
  'bans.memory': 'How long after a ban another one counts as a further one.',
  keys: 'How each gateway keeps keys.',
  'keys.cache':
    'How many keys each gateway keeps in its memory, so that it need not ask the store.',

  upstreams: 'What stands behind the gateway, by name.',
  'upstreams.NAME': 'One or more targets that share the requests of the routes that name them.',
  'upstreams.NAME.targets': 'Where requests go, by turns.',
  'upstreams.NAME.targets[]': 'A target, or a target with its weight.',
  'upstreams.NAME.targets[].url': 'Where the target is.',
  'upstreams.NAME.targets[].weight': 'How many turns it takes for one of a target with weight 1.',
  'upstreams.NAME.timeout': 'How long things may take.',
  'upstreams.NAME.timeout.connect': 'For a connection.',
  'upstreams.NAME.timeout.response': 'Until the first byte of an answer.',
  'upstreams.NAME.timeout.idle': 'Between two bytes of an answer.',
  'upstreams.NAME.timeout.request': 'For a caller to send its whole request.',
  'upstreams.NAME.health': 'When a target is left out, and how it is looked at.',
  'upstreams.NAME.health.path':
    'What is asked for to see whether a target is well; without it, whether it can be connected to.',
  'upstreams.NAME.health.every': 'How often it is asked.',
  'upstreams.NAME.health.unhealthyAfter':
    'How many checks, or requests, in a row must fail for a target to be left out.',
  'upstreams.NAME.maxInFlight': 'How many requests may be on their way at once; more are 503.',
  'upstreams.NAME.fair':
    'Whether no key gets more than its share of them while half of them are taken.',
  'upstreams.NAME.tls': 'How https targets are believed.',
  'upstreams.NAME.tls.ca':
    'A file with the certificates to believe, in place of those that everybody believes. It is read anew with the configuration.',
  'upstreams.NAME.probes': 'What `tollgate upstream check` asks of a would-be backend.',
  'upstreams.NAME.probes[].request': 'The method and path that is asked.',
  'upstreams.NAME.probes[].status':
    'The status that is expected; without it, that of the present backend.',

  routes: 'Which paths lead where.',
  'routes[].path':
    'What callers ask for: exact, with {name} for any one segment, or with /* for all below.',
  'routes[].upstream': 'The name of the upstream that it leads to.',
  'routes[].cost': 'How many points a request costs; 0 is free.',
  'routes[].methods':
    'The methods that it forwards; without it, those that other entries of the path leave of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS.',
  'routes[].rewrite': "What stands in the place of the path's fixed part towards the backend.",
  'routes[].bodyLimit': 'The most that a body may have.',

  deprecations: 'Operations that callers should leave.',
  'deprecations[].operation': 'Which one; HEAD goes with GET.',
  'deprecations[].since': 'When it became deprecated.',
  'deprecations[].sunset': 'When it is removed.',
  'deprecations[].replacement': 'Where callers should go instead.',
  'deprecations[].docs': 'Where it is explained.',
  'deprecations[].afterSunset':
    'What becomes of it from its sunset on: 410 (gone), or it goes on (serve).',
  'deprecations[].brownouts': 'Rehearsals of its removal: 503 while they last.',
  'deprecations[].brownouts[].from': 'When it begins.',
  'deprecations[].brownouts[].to': 'When it ends.',

  quota: 'What the gateway itself answers to callers.',
  'quota.path': 'Where callers ask how they stand; it costs nothing.',
  headers: 'What is sent beside the X-RateLimit headers.',
  'headers.ietf': 'Whether RateLimit and RateLimit-Policy (draft 11) are sent.',
  cors: 'Which pages may ask from browsers.',
  'cors.origins': "The origins of these pages; '*' for all.",
  workers:
    'How many processes serve at the same port; auto for one each processor core. More than one needs Redis.',
  drain: 'How long connections that are open at a stop go on being answered.',
  shutdown: 'How long requests in flight may take at a stop, in all.',
  trustedProxies: 'Proxies in front of the gateway, whose X-Forwarded-For is believed.',
}
