import { Type } from '../../../../shared/schema.ts'
import { optional, required, section } from './setting.ts'
import { swap } from './swap.ts'
import { targets } from './targets.ts'
import { upstreamTls } from './tls.ts'
import { count, headerName, onOrOff, spelled, time, whole } from './values.ts'

const status = whole(100, 599, 'an HTTP status from 100 to 599')
const probe = spelled(
  '^(?:GET|HEAD|OPTIONS) /\\S*$',
  'GET and a path, such as GET /v1/pets?limit=1',
)
const exactPath = spelled('^/[^{}*?#\\s]*$', 'a path such as /healthz')

const timeout = section({
  connect: optional(time, 'For a connection.', '1s'),
  response: optional(time, 'Until the first byte of an answer.', '10s'),
  idle: optional(time, 'Between two bytes of an answer.', '30s'),
  request: optional(time, 'For a caller to send its whole request.', '30s'),
})

const health = section({
  path: optional(
    exactPath,
    'The path that a check asks for; without it, a check only opens a connection.',
  ),
  every: optional(time, 'The time between two checks.', '2s'),
  unhealthyAfter: optional(
    count,
    'The number of checks or requests that must fail in a row for a target to be left out.',
    3,
  ),
})

const forward = section({
  cookies: optional(
    onOrOff,
    'Whether callers’ cookies go to the backend, all but that of the operators’ console.',
    'off',
  ),
  host: optional(
    Type.Enum(['target', 'caller'], { expected: 'target or caller' }),
    'The Host of requests: that of the target, or the one that the caller has asked.',
    'target',
  ),
  headers: optional(
    Type.Record(
      headerName,
      Type.String({ minLength: 1, expected: 'a text, in quotes if it looks like a number' }),
      { expected: 'headers by name, such as { x-api-key: ... }' },
    ),
    'Headers that the backend gets in place of callers’ own, such as a credential; at most 20. Their values are masked wherever settings are shown.',
  ),
})

const probes = Type.Array(
  section({
    request: required(probe, 'The method and path to send.'),
    status: optional(
      status,
      'The expected status; without it, the status that the present backend answers.',
    ),
  }),
  { expected: 'a list of { request: GET /path, status: 200 }' },
)

const upstream = section(
  {
    targets: required(targets, 'The targets that requests go to, in turn.'),
    swap: optional(swap, 'The way to other targets, step by step, and back if they fail.'),
    timeout: optional(timeout, 'Time limits of a request.', {}),
    health: optional(health, 'How targets are checked, and when one is left out.', {}),
    maxInFlight: optional(count, 'The most requests in flight at once; more get 503.', 1_000),
    fair: optional(
      onOrOff,
      'Whether each key is held to its share of maxInFlight while half of it is taken.',
      'on',
    ),
    forward: optional(forward, 'Parts of requests that a whole application may need.', {}),
    tls: optional(
      upstreamTls,
      'The certificates at https targets: theirs, and the gateway’s own. Files that change are read again.',
    ),
    probes: optional(
      probes,
      'The requests that `tollgate upstream check` sends to a new backend.',
      [],
    ),
  },
  'One or more targets that share the requests of the routes to this upstream.',
)

export const upstreams = Type.Record(Type.String(), upstream, { expected: 'upstreams by name' })
