import { Type } from '../../../../shared/schema.ts'
import { optional, required, section, shortened } from './setting.ts'
import {
  count,
  exactPath,
  factor,
  methods,
  onOrOff,
  percent,
  probe,
  share,
  status,
  text,
  time,
  url,
  weight,
} from './values.ts'

const target = shortened(
  'url',
  Type.Union(
    [
      url,
      section({
        url: required(url, 'The URL of the target.'),
        weight: optional(
          weight,
          'The number of requests that it gets for each one of a target with weight 1.',
          1,
        ),
      }),
    ],
    {
      expected: 'an http or https URL without a path, or { url: ..., weight: ... }',
      description: 'The URL of a target, or a target with its weight.',
    },
  ),
)
const targets = Type.Array(target, {
  minItems: 1,
  expected: 'a list of URLs, or of { url: ..., weight: ... }',
})

const back = section({
  errors: optional(
    share,
    'By how much the share of failures (5xx, no answer) of the new side may exceed the old one’s.',
    '1%',
  ),
  slower: optional(
    factor,
    'How many times as long as the old side’s the p95 of the new one may be.',
    2,
  ),
  after: optional(
    count,
    'The requests to the new side in a step before it is judged, and before the next step comes.',
    100,
  ),
  callers: optional(
    count,
    'The number of callers that failures must have met to count; all, where a step has fewer.',
    3,
  ),
})

const swap = section({
  to: required(targets, 'The targets of the new side.'),
  steps: optional(
    Type.Array(percent, { minItems: 1, maxItems: 20, expected: 'a list of rising percentages' }),
    'The percentages of callers who go to the new side, rising. After the last step all do.',
    [1, 10, 50],
  ),
  every: optional(time, 'The least time of a step.', '5m'),
  methods: optional(
    methods,
    'The methods that may go to the new side before all callers do; by default all.',
  ),
  back: optional(back, 'When it goes back by itself.', {}),
})

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

const tls = section({
  ca: required(
    text,
    "A file with the certificates to trust, in place of Node.js' own. Each reload of the configuration reads it again.",
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
    maxInFlight: optional(count, 'The most requests on their way at once; more get 503.', 1_000),
    fair: optional(
      onOrOff,
      'Whether each key is held to its share of maxInFlight while half of it is taken.',
      'on',
    ),
    tls: optional(tls, 'How the certificates of https targets are checked.'),
    probes: optional(
      probes,
      'The requests that `tollgate upstream check` sends to a new backend.',
      [],
    ),
  },
  'One or more targets that share the requests of the routes to this upstream.',
)

export const upstreams = Type.Record(Type.String(), upstream, { expected: 'upstreams by name' })
