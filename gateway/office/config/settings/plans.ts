import { Type } from '../../../../shared/schema.ts'
import { byLimit, longWindows, type Window, type WindowName } from '../../../../shared/windows.ts'
import { mostAtOnce, mostLimit } from '../../../front/limits/limit-settings.ts'
import { optional, required, section, shortened } from './setting.ts'
import {
  count,
  duration,
  limit,
  methods,
  onOrOff,
  path,
  percentPattern,
  spelled,
  time,
  upTo,
  whole,
} from './values.ts'

/** The names of plans and of operations. */
const name = '^[a-z][a-z0-9-]{0,31}$'

const metered = section({
  limit: required(count, 'The points that are included.'),
  beyond: required(
    Type.Literal('meter', { expected: 'meter' }),
    'Whether points above them are admitted and metered.',
  ),
  upTo: required(upTo, 'Where requests are refused: a share of the included points, or unlimited.'),
})

const prepaid = section({
  limit: required(
    whole(0, mostLimit, 'a whole number, also 0'),
    'The points that are included; 0: only what was bought.',
  ),
  beyond: required(
    Type.Literal('prepaid', { expected: 'prepaid' }),
    'Whether above them points are taken that were bought in advance.',
  ),
})

const longLimit = Type.Union([count, Type.Literal('unlimited'), metered, prepaid], {
  expected:
    'a whole number above 0, "unlimited", { limit: ..., beyond: meter, upTo: 300% } or { limit: ..., beyond: prepaid }',
})

/** How many requests may be under way. */
const places = whole(1, mostAtOnce, 'a whole number')
const atOnce = Type.Union(
  [
    places,
    Type.Literal('unlimited'),
    section({
      limit: required(places, 'The requests that may be under way.'),
      linger: optional(
        time,
        'How long the place of a request is kept whose caller has left before the answer.',
      ),
    }),
  ],
  {
    expected: `a whole number from 1 to ${mostAtOnce}, "unlimited", or { limit: ..., linger: 2s }`,
  },
)

const paths = Type.Array(path, { minItems: 1, expected: 'a list of paths' })

const optionalLimit = (sentence: string) => optional(limit, sentence)

const operation = section({
  methods: optional(methods, 'The methods of its requests; GET includes HEAD. Without it: all.'),
  paths: optional(
    paths,
    'The paths of its requests, written like those of routes. Without it: all.',
  ),
  ...byLimit(({ each }) =>
    optionalLimit(`The points ${each} of these requests; without it: unlimited.`),
  ),
  atOnce: optional(atOnce, 'How many of these requests may be under way. Without it: any number.'),
})

const operations = Type.Record(Type.String({ pattern: name }), operation, {
  expected: 'a section of operations with names in lower case',
})

const ofEveryPlan = {
  bans: optional(
    onOrOff,
    'Whether keys of this plan are banned if they go on after refusals.',
    'on',
  ),
  methods: optional(
    methods,
    'The methods that keys of this plan may use; GET includes HEAD. Without it: all.',
  ),
  paths: optional(
    paths,
    'The paths that keys of this plan may ask for, written like those of routes. Without it: all.',
  ),
  operations: optional(
    operations,
    'Requests with limits of their own, counted beside those of the plan; at most four. A request is of the first one that it fits.',
  ),
}

type LimitRule = typeof longLimit

/** The limit of a plan: points of a day, and of what is longer, may be metered or bought in advance. */
function ruleOf(window: Window): LimitRule {
  return (longWindows.includes(window) ? longLimit : limit) as LimitRule
}

const shadow = section(
  byLimit(({ each }) =>
    optionalLimit(`The points ${each} of the shadow; without it: those of the plan.`),
  ),
)

const plan = section({
  ...byLimit((window) => {
    const { name, each, begins } = window
    const sentence = `The points that a key may use up in ${each}; ${name}s begin ${begins}. Without it: unlimited.`
    return optional(ruleOf(window), sentence)
  }),
  atOnce: optional(
    atOnce,
    'How many requests of a quota may be under way, over all gateways. Without it: any number.',
  ),
  shadow: optional(
    shadow,
    'Lower limits that refuse nothing: requests that they would have refused are counted, for tollgate shadow report.',
  ),
  ...ofEveryPlan,
})

const customPlan = section({
  limits: required(Type.Literal('custom'), 'Each key brings its own limits.'),
  ...ofEveryPlan,
})

export const plans = Type.Record(
  Type.String({ pattern: name }),
  shortened(
    'limits',
    // Every section without `limits` is of the last kind.
    Type.Union([customPlan, Type.Literal('custom'), plan], {
      expected: '{ perMinute: ..., perDay: ... } or custom',
      description: 'The limits of a plan. In a custom plan, each key brings its own limits.',
    }),
  ),
  { expected: 'a section of plans with names in lower case', minProperties: 1 },
)

const ofStrangers = (name: WindowName): string =>
  `Requests without a valid key, per address and ${name}.`

export const strangers = section({
  ...byLimit(({ name }) => optionalLimit(`${ofStrangers(name)} Without it: unlimited.`)),
  perMinute: optional(limit, ofStrangers('minute'), 60),
  perDay: optional(limit, ofStrangers('day'), 1_000),
})

// As many strikes within a minute as it lets requests in are a ban of a minute, the next ones of up to an hour.
export const bans = section({
  strikes: optional(
    Type.Union([whole(1, 1_000, 'a whole number'), spelled(percentPattern, 'a share')], {
      expected: 'a whole number from 1 to 1000, or a share from 1% to 1000%',
    }),
    'The number of strikes that ban a key, or their share of the requests that its minute lets in: then at least 20, at most 1,000, and 300 where no minute is limited.',
    '100%',
  ),
  within: optional(time, 'The time within which these strikes must come.', '1m'),
  grace: optional(
    duration,
    'A refusal is a strike if it comes later than this after the first refusal of an episode.',
    '1s',
  ),
  for: optional(time, 'The length of a first ban.', '1m'),
  factor: optional(
    Type.Number({ minimum: 1, maximum: 1_000, expected: 'a number from 1 to 1000' }),
    'A further ban lasts this many times as long as the one before.',
    2,
  ),
  atMost: optional(duration, 'The longest time that a ban lasts.', '1h'),
  memory: optional(
    duration,
    'A ban that comes within this time after another one is a further ban.',
    '24h',
  ),
})
