import t from 'tap'
import { figuresFrom } from '../../../gateway/office/live/figures.ts'
import { LiveView } from '../../../gateway/office/live/view.ts'

/** Values that JSON can hold; the last one can't even be made a text. */
const odd: readonly unknown[] = [
  undefined,
  null,
  true,
  5,
  'text',
  [],
  [1],
  {},
  { toString: 1, valueOf: 1 },
]

const plain = {
  ...{ id: 'a', name: 'A', nowMs: 1, sinceMs: 1, second: 1, refusal: 0, seconds: [], minutes: [] },
  refusals: [
    {
      ...{ id: 'r', time: '2026-06-15T12:00:00.000Z', gateway: 'A', route: '/v1/*', status: 429 },
      ...{ key: 'k', name: null, plan: 'free', code: null, reason: 'minute', window: 'minute' },
    },
  ],
  refusedKeys: [{ key: 'k', name: 'K', plan: 'free', window: 'minute', count: 1 }],
  targets: [{ upstream: 'animals', target: 'http://a', healthy: true, sinceMs: 1, cause: '' }],
  failures: [
    {
      ...{ side: 'backend', upstream: 'animals', reason: 'backend', status: 500, count: 1 },
      ...{ last: '2026-06-15T12:00:00.000Z', id: 'r', sentence: 'It failed.' },
    },
  ],
  routes: [{ route: '/v1/*', refused: 0, failed: 0, times: [1] }],
  isReachable: true,
  config: { hash: 'abc', sharedHash: 'abc', refuses: null },
}

t.test('an answer with members of other types is left out, or makes a snapshot', (t) => {
  const other = figuresFrom({
    ...plain,
    id: 'b',
    config: { hash: 'def', sharedHash: 'def', refuses: null },
  })
  if (!figuresFrom(plain) || !other) throw new Error('both are answers')
  const answers = odd.flatMap((value) => [
    ...Object.keys(plain).map((name) => ({ ...plain, [name]: value })),
    ...(['refusals', 'refusedKeys', 'targets', 'routes', 'failures'] as const).flatMap((list) =>
      Object.keys(plain[list][0] ?? {}).map((name) => ({
        ...plain,
        [list]: [{ ...plain[list][0], [name]: value }, ...plain[list]],
      })),
    ),
    ...Object.keys(plain.config).map((name) => ({
      ...plain,
      config: { ...plain.config, [name]: value },
    })),
  ])
  for (const answer of answers) {
    const told = figuresFrom(answer)
    const view = new LiveView('15m')
    view.take(told ? [told, other] : [other], 2, 5_000)
    t.doesNotThrow(() => JSON.stringify(view.snapshot(5_000, undefined)), JSON.stringify(answer))
  }
  t.end()
})
