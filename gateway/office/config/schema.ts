import { Type } from '../../../shared/schema.ts'
import { cors, headers, keys, portal, quota, usage, via } from './settings/callers.ts'
import { jwt } from './settings/jwt.ts'
import { admin, decide, notices, traces } from './settings/operators.ts'
import { bans, plans, strangers } from './settings/plans.ts'
import { deprecations, routes } from './settings/routes.ts'
import { optional, required, section } from './settings/setting.ts'
import { store } from './settings/store.ts'
import { listeningTls, purposeOfListeningTls } from './settings/tls.ts'
import { upstreams } from './settings/upstreams.ts'
import { duration, onOrOff, port, ranges, spelled, text } from './settings/values.ts'

const workers = Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Literal('auto')], {
  expected: 'a whole number from 1 to 256, or auto',
})
/** The name of a gateway, in lists and logs. A `/` parts it from the number of a worker. */
const gatewayName = spelled(
  '^[\\w.:-]{1,64}$',
  'a name of 1 to 64 letters, digits, ".", "_", ":" or "-"',
)

/**
 * The configuration file as operators write it: each setting with its rule, its purpose and its default. `expected` is
 * a rule in words. Complete files have this order.
 */
export const fileSchema = section({
  name: optional(
    gatewayName,
    'The name of this gateway among others, for operators; without it: its host and process id. Callers never see it.',
  ),
  listen: optional(
    section({
      host: optional(
        text,
        'The address to listen on for callers; 0.0.0.0 is every address of this machine.',
        '127.0.0.1',
      ),
      port: optional(port, 'The port for callers; 0 is any free port.', 8080),
      tls: optional(listeningTls, purposeOfListeningTls),
    }),
    'The address for callers.',
    {},
  ),
  admin: optional(
    admin,
    'The address for operators: health and metrics, and with ADMIN_TOKEN the admin API.',
    {},
  ),
  decide: optional(
    decide,
    'The address at which a proxy asks whether a request may pass. Without it: none.',
  ),
  store: optional(store, 'The store of keys, counters and bans.', {}),
  plans: required(plans, 'The plans of keys, by name.'),
  strangers: optional(
    strangers,
    'The limits of an address (IPv6: a /64) for requests without a valid key.',
    {},
  ),
  bans: optional(bans, 'When a key that goes on after refusals is banned, and for how long.', {}),
  keys: optional(keys, 'Where keys come from, and the cache of them in each gateway.', {}),
  jwt: optional(jwt, 'Issuers whose tokens (JWT) are taken beside keys.', []),
  upstreams: optional(upstreams, 'The backends behind the gateway, by name.', {}),
  routes: optional(
    routes,
    'The paths that the gateway forwards, and their upstreams. An app that guards its own routes may leave it out.',
    [],
  ),
  deprecations: optional(deprecations, 'Operations that callers should stop using.', []),
  quota: optional(quota, 'The endpoint of the gateway itself for callers.', {}),
  usage: optional(
    usage,
    'The endpoint of the gateway itself for callers that look back, and how finely their use is counted.',
    {},
  ),
  tickets: optional(
    onOrOff,
    'Whether callers get tickets for what can’t send a header, such as a WebSocket of a browser, at POST /v1/ticket.',
    'off',
  ),
  portal: optional(
    portal,
    'The pages for callers: the reference of the API, and how they stand. Without it: none.',
  ),
  headers: optional(headers, 'Headers to send besides X-RateLimit.', {}),
  via: optional(
    via,
    'The name of this gateway in Via, which forwarded requests and their answers carry; a request that has it twice is refused. off ends both.',
    'tollgate',
  ),
  notices: optional(notices, 'Where events are told, by signed webhooks.', []),
  traces: optional(traces, 'Spans of requests, for OpenTelemetry.', {}),
  workers: optional(
    workers,
    'The number of processes that serve at the same port; auto is one for each processor core. More than one needs Redis.',
    1,
  ),
  drain: optional(duration, 'At a stop: how long open connections are still answered.', '3s'),
  shutdown: optional(
    duration,
    'At a stop: the time for requests in flight to finish, in all.',
    '15s',
  ),
  trustedProxies: optional(
    ranges,
    'Proxies in front of the gateway; X-Forwarded-For is trusted only from them.',
    [],
  ),
  cors: optional(cors, 'Which web pages may call from browsers.', {}),
})
