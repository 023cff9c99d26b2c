import { Type } from '../../../../shared/schema.ts'
import { isTargetUrl, targetForm, targetPattern } from '../../../front/forwarding/target-url.ts'
import { optional, required, section, shortened } from './setting.ts'
import { upstreamTls } from './tls.ts'
import {
  count,
  headerName,
  methods,
  oneOf,
  onOrOff,
  share,
  sharePattern,
  spelled,
  time,
  whole,
} from './values.ts'

const url = Type.Refine(spelled(targetPattern, targetForm), isTargetUrl)
const weight = whole(1, 1_000, 'a whole number from 1 to 1000')

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
      expected: `${targetForm}, or { url: ..., weight: ... }`,
      description: 'The URL of a target, or a target with its weight.',
    },
  ),
)
const targets = Type.Array(target, {
  minItems: 1,
  expected: 'a list of URLs, or of { url: ..., weight: ... }',
})

/** A share of callers. Its sign may be left out. */
const percent = Type.Union(
  [
    spelled(`^(?=.*[1-9])${sharePattern.slice(1)}`, 'a share above 0%'),
    Type.Number({ exclusiveMinimum: 0, maximum: 100 }),
  ],
  { expected: 'a percentage above 0 and up to 100, such as 10%' },
)
/** How many times as long something may take. */
const factor = Type.Number({
  exclusiveMinimum: 1,
  maximum: 1_000,
  expected: 'a number above 1, such as 2',
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
    Type.Array(percent, {
      minItems: 1,
      maxItems: 20,
      expected: 'a list of at most 20 rising percentages',
    }),
    'The percentages of callers who go to the new side, rising. After the last step all do.',
    ['1%', '10%', '50%'],
  ),
  every: optional(time, 'The least time of a step; without it and for: 5m.'),
  for: optional(time, 'The same as every: write one of both.'),
  methods: optional(
    methods,
    'The methods that may go to the new side before all callers do; by default all.',
  ),
  back: optional(back, 'When it goes back by itself.', {}),
})

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
    oneOf('target', 'caller'),
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
