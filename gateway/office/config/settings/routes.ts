import { pointerPattern } from '../../../../shared/pointer.ts'
import { Type } from '../../../../shared/schema.ts'
import { sizeFrom, sizePattern } from '../../../../shared/units.ts'
import { leftCosts, mostCost, untoldCosts } from '../../../front/limits/answer-cost.ts'
import { mostScopes, scopePattern } from '../../../front/keys/scopes.ts'
import { optional, required, section } from './setting.ts'
import {
  instant,
  methods,
  oneOf,
  onOrOff,
  operationPattern,
  path,
  readBy,
  spelled,
  text,
  time,
  whole,
  yesOrNo,
} from './values.ts'

const size = readBy(sizeFrom, sizePattern, 'a size such as 64KiB or 1MiB')
/** The points that a request costs. */
const cost = whole(0, mostCost, 'a whole number from 0 to 1000000')
/** A number that is exact in millionths. */
const weight = Type.Refine(
  Type.Number({
    exclusiveMinimum: 0,
    maximum: 1_000_000,
    expected: 'a number above 0, up to 1000000, with at most six decimals',
  }),
  (value) => /^\d+(?:\.\d{1,6})?$/.test(String(value)),
)
const pointer = spelled(`^${pointerPattern}$`, 'a JSON pointer, such as /usage/total_tokens')
const weights = Type.Record(
  Type.String({ pattern: `^${pointerPattern}(?: ${pointerPattern})*$` }),
  weight,
  { expected: 'weights by JSON pointer', minProperties: 1 },
)
const costMember = section({
  json: required(
    Type.Union([pointer, weights], {
      expected:
        'a JSON pointer, such as /usage/total_tokens, or { /usage/input_tokens: 1, /usage/output_tokens: 5 }',
    }),
    'The member of a JSON body, or of the last event that has it, as a JSON pointer; or several, each with its weight.',
  ),
  times: optional(
    weight,
    'What its number is multiplied by, 1 by default; the product is rounded up.',
  ),
})
const drain = section({
  time: required(time, 'The longest that it reads on.'),
  size: required(size, 'The most that it reads.'),
})
const answerCost = section({
  estimate: required(
    cost,
    'The points that a request is counted with until its answer has told its cost. With 0 it is let in while any are left.',
  ),
  from: required(
    Type.Union([oneOf('answer'), costMember], {
      expected: 'answer, or { json: /a/pointer }',
    }),
    'Where the cost is told: `answer` is the header or trailer `X-Gateway-Cost` of the backend, `json` a member of its body.',
  ),
  atMost: optional(
    whole(1, mostCost, 'a whole number from 1 to 1000000'),
    'The most points that a request costs, whatever the answer tells; ten times the estimate by default.',
  ),
  untold: optional(oneOf(...untoldCosts), 'What an answer costs that tells nothing.', 'estimate'),
  left: optional(
    oneOf(...leftCosts),
    'What a request costs whose caller leaves before all is told: what was passed on until then (the default where a body is read), or a fixed number.',
  ),
  drain: optional(
    drain,
    'Reads on for the cost when the caller has left. Without it, the request to the backend ends at once.',
  ),
})
const scopeList = Type.Array(spelled(scopePattern, 'a scope such as pets:write, without spaces'), {
  maxItems: mostScopes,
  expected: `a list of at most ${mostScopes} scopes`,
})
const scopes = Type.Union(
  [
    scopeList,
    Type.Record(Type.String({ pattern: '^(?:[A-Z-]+|\\*)$' }), scopeList, {
      expected: 'lists of scopes by method, such as GET or *',
      minProperties: 1,
    }),
  ],
  {
    expected:
      "a list of scopes without spaces, such as [pets:write], or { GET: [pets:read], '*': [pets:write] }",
  },
)
const operation = spelled(operationPattern, 'a method and a path, such as GET /v1/pets/{petId}')
// It goes into a `Link` header, in which an angle bracket would end it.
const link = spelled('^[^\\s<>"]+$', 'a path or a URL without spaces')
/** The prefix that replaces the fixed part of a route's path. */
const prefix = spelled(
  '^(?:(?:/[^/{}*:?#\\s]+)*/\\*|/)$',
  'a path that ends in /*, such as /api/*, or / alone',
)

export const routes = Type.Array(
  section({
    path: required(
      path,
      'The path of a request: exact, with {name} for any one segment, or with /* for everything below.',
    ),
    upstream: required(
      text,
      'The name of the upstream; none for a route that is only decided, and forwarded by the proxy that asks (decide).',
    ),
    cost: optional(
      Type.Union([cost, answerCost], {
        expected: 'a whole number from 0 to 1000000, or { estimate: ..., from: answer }',
      }),
      'The points that a request costs; 0 is free.',
      1,
    ),
    methods: optional(
      methods,
      'The methods to forward. Without it: those of GET, HEAD, QUERY, POST, PUT, PATCH, DELETE and OPTIONS that no other entry of the path names.',
    ),
    scopes: optional(
      scopes,
      'The scopes that a request needs, all of them; or by method, `*` for the rest. HEAD goes with GET unless it is named.',
    ),
    rewrite: optional(
      prefix,
      'The prefix that replaces the fixed part of the path in requests to the backend; / removes it, also from the route of that part alone.',
    ),
    bodyLimit: optional(size, 'The largest request body.', '1MiB'),
    errors: optional(
      onOrOff,
      'Whether refusals of the gateway have the member `error` too, which SDKs of models read.',
      'off',
    ),
  }),
  { expected: 'a list of routes' },
)

const brownout = section({
  from: required(instant, 'When it begins.'),
  to: required(instant, 'When it ends.'),
})

const ofEveryExtension = {
  until: required(instant, 'The sunset for its requests.'),
  spare: optional(yesOrNo, 'Whether brownouts spare it.', false),
}

const extension = Type.Union(
  [
    section({ key: required(text, 'The id of the key.'), ...ofEveryExtension }),
    section({
      account: required(text, 'The account, in place of a key.'),
      ...ofEveryExtension,
    }),
  ],
  { expected: '{ key: ..., until: ... } or { account: ..., until: ... }' },
)

export const deprecations = Type.Array(
  section({
    operation: required(operation, 'The method and path of the operation; HEAD goes with GET.'),
    since: required(instant, 'When it became deprecated.'),
    sunset: optional(instant, 'When it is removed.'),
    replacement: optional(link, 'Where callers should go instead.'),
    docs: optional(link, 'Where the change is explained.'),
    afterSunset: optional(
      oneOf('gone', 'serve'),
      'From the sunset on: refuse with 410 (gone), or keep forwarding (serve).',
      'gone',
    ),
    brownouts: optional(
      Type.Array(brownout, { expected: 'a list of { from: ..., to: ... }' }),
      'Rehearsals of the removal: the operation is 503 while they last.',
      [],
    ),
    extensions: optional(
      Type.Array(extension, { expected: 'a list of { key: ..., until: ... }' }),
      'A later sunset for single keys and accounts. A key has its own, else that of its account.',
      [],
    ),
  }),
  { expected: 'a list of deprecations' },
)
