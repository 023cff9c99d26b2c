/** The purpose of each setting, for editors and `file.ts`; both add the setting's rule, and editors its default. */
export const descriptions: Readonly<Record<string, string>> = {
  name: 'The name of this gateway among others, for operators; without it: its host and process id. Callers never see it.',
  listen: 'The address for callers.',
  'listen.host': 'The address to listen on for callers; 0.0.0.0 is every address of this machine.',
  'listen.port': 'The port for callers; 0 is any free port.',
  admin: 'The address for operators: health and metrics, and with ADMIN_TOKEN the admin API.',
  'admin.host':
    'The address to listen on for operators. If other machines can reach it, ADMIN_TOKEN is required.',
  'admin.port': 'The port for operators; 0 is any free port.',
  'admin.hosts':
    'Host names that requests to the admin address may use besides localhost and IP addresses: those to the console always, all others while only this machine can reach it.',
  'admin.save':
    'Whether operators may read and save this file over the admin API and the console. The file’s secrets can be read then by every token without a role.',

  store: 'The store of keys, counters and bans.',
  'store.file':
    'The SQLite file of a gateway without Redis. A relative path starts at the working directory.',
  'store.redis': 'The Redis that several gateways share; if empty, the file is used.',
  'store.redis.cluster': 'Some nodes of a Redis Cluster; the gateway finds the others from them.',
  'store.redis.sentinels': 'The Sentinels that know which Redis is the master.',
  'store.redis.name': 'The name of the master in the Sentinels.',
  'store.redis.username': 'The user name for Redis; empty for none.',
  'store.redis.password': 'The password for Redis; empty for none.',
  'store.redis.tls': 'Whether connections to Redis are encrypted.',
  'store.redis.tls.ca': "A file with the certificates to trust, in place of Node.js' own.",
  'store.redis.sentinelUsername': 'The user name for the Sentinels; empty for none.',
  'store.redis.sentinelPassword': 'The password for the Sentinels; empty for none.',
  'store.prefix': 'The beginning of every key in Redis.',
  'store.timeout': 'How long a request may wait for Redis.',
  'store.whenUnreachable':
    'While Redis is out of reach: each gateway admits its share of every limit (local), every valid key is let in (allow), or no key is (deny).',

  plans: 'The plans of keys, by name.',
  'plans.NAME': 'The limits of a plan. In a custom plan, each key brings its own limits.',
  'plans.NAME.perMinute':
    'The points that a key may use up in a minute; minutes begin at second 0.',
  'plans.NAME.perDay': 'The points that a key may use up in a day; days begin at midnight, UTC.',
  'plans.NAME.bans': 'Whether keys of this plan are banned if they go on after refusals.',
  'plans.NAME.shadow':
    'Lower limits that refuse nothing: requests that they would have refused are counted, for tollgate shadow report.',
  'plans.NAME.shadow.perMinute':
    'The points a minute of the shadow; without it: those of the plan.',
  'plans.NAME.shadow.perDay': 'The points a day of the shadow; without it: those of the plan.',
  'plans.NAME.limits': 'Each key brings its own limits.',
  'plans.NAME.methods':
    'The methods that keys of this plan may use; GET includes HEAD. Without it: all.',
  'plans.NAME.paths':
    'The paths that keys of this plan may ask for, written like those of routes. Without it: all.',
  strangers: 'The limits of an address (IPv6: a /64) for requests without a valid key.',
  'strangers.perMinute': 'Requests without a valid key, per address and minute.',
  'strangers.perDay': 'Requests without a valid key, per address and day.',

  bans: 'When a key that goes on after refusals is banned, and for how long.',
  'bans.strikes': 'The number of strikes that ban a key.',
  'bans.within': 'The time within which these strikes must come.',
  'bans.grace':
    'A refusal is a strike if it comes later than this after the first refusal of an episode.',
  'bans.for': 'The length of a first ban.',
  'bans.factor': 'A further ban lasts this many times as long as the one before.',
  'bans.atMost': 'The longest time that a ban lasts.',
  'bans.memory': 'A ban that comes within this time after another one is a further ban.',
  keys: 'The cache of keys in each gateway.',
  'keys.cache':
    'The number of keys that each gateway keeps in memory, to spare look-ups in the store.',

  upstreams: 'The backends behind the gateway, by name.',
  'upstreams.NAME': 'One or more targets that share the requests of the routes to this upstream.',
  'upstreams.NAME.targets': 'The targets that requests go to, in turn.',
  'upstreams.NAME.targets[]': 'The URL of a target, or a target with its weight.',
  'upstreams.NAME.targets[].url': 'The URL of the target.',
  'upstreams.NAME.targets[].weight':
    'The number of requests that it gets for each one of a target with weight 1.',
  'upstreams.NAME.swap': 'The way to other targets, step by step, and back if they fail.',
  'upstreams.NAME.swap.to': 'The targets of the new side.',
  'upstreams.NAME.swap.to[]': 'The URL of a target, or a target with its weight.',
  'upstreams.NAME.swap.to[].url': 'The URL of the target.',
  'upstreams.NAME.swap.to[].weight': 'Its share of the requests of its side, beside the others.',
  'upstreams.NAME.swap.steps':
    'The percentages of callers who go to the new side, rising. After the last step all do.',
  'upstreams.NAME.swap.every': 'The least time of a step.',
  'upstreams.NAME.swap.methods':
    'The methods that may go to the new side before all callers do; by default all.',
  'upstreams.NAME.swap.back': 'When it goes back by itself.',
  'upstreams.NAME.swap.back.errors':
    'By how much the share of failures (5xx, no answer) of the new side may exceed the old one’s.',
  'upstreams.NAME.swap.back.slower':
    'How many times as long as the old side’s the p95 of the new one may be.',
  'upstreams.NAME.swap.back.after':
    'The requests to the new side in a step before it is judged, and before the next step comes.',
  'upstreams.NAME.swap.back.callers':
    'The number of callers that failures must have met to count; all, where a step has fewer.',
  'upstreams.NAME.timeout': 'Time limits of a request.',
  'upstreams.NAME.timeout.connect': 'For a connection.',
  'upstreams.NAME.timeout.response': 'Until the first byte of an answer.',
  'upstreams.NAME.timeout.idle': 'Between two bytes of an answer.',
  'upstreams.NAME.timeout.request': 'For a caller to send its whole request.',
  'upstreams.NAME.health': 'How targets are checked, and when one is left out.',
  'upstreams.NAME.health.path':
    'The path that a check asks for; without it, a check only opens a connection.',
  'upstreams.NAME.health.every': 'The time between two checks.',
  'upstreams.NAME.health.unhealthyAfter':
    'The number of checks or requests that must fail in a row for a target to be left out.',
  'upstreams.NAME.maxInFlight': 'The most requests on their way at once; more get 503.',
  'upstreams.NAME.fair':
    'Whether each key is held to its share of maxInFlight while half of it is taken.',
  'upstreams.NAME.tls': 'How the certificates of https targets are checked.',
  'upstreams.NAME.tls.ca':
    "A file with the certificates to trust, in place of Node.js' own. Each reload of the configuration reads it again.",
  'upstreams.NAME.probes': 'The requests that `tollgate upstream check` sends to a new backend.',
  'upstreams.NAME.probes[].request': 'The method and path to send.',
  'upstreams.NAME.probes[].status':
    'The expected status; without it, the status that the present backend answers.',

  routes: 'The paths that the gateway forwards, and their upstreams.',
  'routes[].path':
    'The path of a request: exact, with {name} for any one segment, or with /* for everything below.',
  'routes[].upstream': 'The name of the upstream.',
  'routes[].cost': 'The points that a request costs; 0 is free.',
  'routes[].methods':
    'The methods to forward. Without it: those of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS that no other entry of the path names.',
  'routes[].rewrite':
    'The prefix that replaces the fixed part of the path in requests to the backend.',
  'routes[].bodyLimit': 'The largest request body.',

  deprecations: 'Operations that callers should stop using.',
  'deprecations[].operation': 'The method and path of the operation; HEAD goes with GET.',
  'deprecations[].since': 'When it became deprecated.',
  'deprecations[].sunset': 'When it is removed.',
  'deprecations[].replacement': 'Where callers should go instead.',
  'deprecations[].docs': 'Where the change is explained.',
  'deprecations[].afterSunset':
    'From the sunset on: refuse with 410 (gone), or keep forwarding (serve).',
  'deprecations[].brownouts': 'Rehearsals of the removal: the operation is 503 while they last.',
  'deprecations[].brownouts[].from': 'When it begins.',
  'deprecations[].brownouts[].to': 'When it ends.',
  'deprecations[].extensions':
    'A later sunset for single keys and accounts. A key has its own, else that of its account.',
  'deprecations[].extensions[].key': 'The id of the key.',
  'deprecations[].extensions[].account': 'The account, in place of a key.',
  'deprecations[].extensions[].until': 'The sunset for its requests.',
  'deprecations[].extensions[].spare': 'Whether brownouts spare it.',

  quota: 'The endpoint of the gateway itself for callers.',
  'quota.path': 'The path at which callers read their limits; asking is free.',
  usage:
    'The endpoint of the gateway itself for callers that look back, and how finely their use is counted.',
  'usage.path': 'The path at which callers read their usage by day; asking is free.',
  'usage.routes':
    'Whether gateways count the use of each key by route as well, for tollgate usage export --by route.',
  portal: 'The pages for callers: the reference of the API, and how they stand. Without it: none.',
  'portal.path': 'The path of the pages; they need no key.',
  'portal.openapi':
    'The OpenAPI document of the API, in YAML or JSON, from the working directory or from above this file. Each reload of the configuration reads it again.',
  'portal.rotate': 'Whether callers may give their own key a new token.',
  headers: 'Headers to send besides X-RateLimit.',
  'headers.ietf': 'Whether RateLimit and RateLimit-Policy (draft 11) are sent.',
  'headers.near':
    'The percentages of a day’s limit that count as near its end. From the lowest one on, answers carry X-RateLimit-Notice; [] ends that.',
  notices: 'Where events are told, by signed webhooks.',
  'notices[].to': 'The URL that gets them; http for this machine only.',
  'notices[].secret':
    'The key that signs them; two with a comma between them while it is changed. whsec_ marks one in base64.',
  'notices[].about': 'The events to tell; without it, all.',
  'notices[].allow':
    'The addresses outside the internet that the URL may lead to. This machine by its own name is always allowed.',
  cors: 'Which web pages may call from browsers.',
  'cors.origins': "The origins of these pages; '*' for all.",
  traces: 'Spans of requests, for OpenTelemetry.',
  'traces.to':
    'The collector that spans are sent to, as OTLP over HTTP in JSON; if empty, none are made.',
  'traces.sample':
    'The share of requests without a traceparent that get spans; 0 makes none at all, whatever callers send.',
  workers:
    'The number of processes that serve at the same port; auto is one for each processor core. More than one needs Redis.',
  drain: 'At a stop: how long open connections are still answered.',
  shutdown: 'At a stop: the time for requests in flight to finish, in all.',
  trustedProxies: 'Proxies in front of the gateway; X-Forwarded-For is trusted only from them.',
}
