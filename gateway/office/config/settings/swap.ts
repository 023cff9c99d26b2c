import { Type } from '../../../../shared/schema.ts'
import { optional, required, section } from './setting.ts'
import { targets } from './targets.ts'
import { count, methods, share, sharePattern, spelled, time } from './values.ts'

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

export const swap = section({
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
