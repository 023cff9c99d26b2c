import t from 'tap'
import type { Caller } from '../../../gateway/front/keys/caller.ts'
import { bucketOf, ownBounds } from '../../../gateway/front/counts/histogram.ts'
import { LiveSums } from '../../../gateway/front/counts/live-sums.ts'
import { RefusedKeys, refusers } from '../../../gateway/front/counts/refused-keys.ts'
import { countsOfRow, outcomes, ownAt, SumRows } from '../../../gateway/front/counts/sum-rows.ts'

const startMs = Date.UTC(2026, 5, 15, 12, 0, 30)

const place = (name: (typeof outcomes)[number]): number => outcomes.indexOf(name)

/** Sums by a clock that the test moves. */
function movedSums() {
  let ticks = 5_000.25
  const sums = new LiveSums({ clock: () => startMs, ticks: () => ticks })
  const count = (name: (typeof outcomes)[number], times = 1): void => {
    const request = { beganAtMs: ticks - 0.2, sentAtMs: 0, answeredAtMs: 0 }
    for (let i = 0; i < times; i++) sums.count(request, place(name), ticks)
  }
  return { sums, count, move: (ms: number) => (ticks += ms) }
}

t.test('a second is told when it is over, and is in its minute at the same time', (t) => {
  const { sums, count, move } = movedSums()
  const first = startMs / 1_000
  count('admitted', 3)
  t.strictSame(sums.secondsAfter(0), [], 'it is not over')
  t.strictSame(sums.minutes(), [])
  move(999)
  count('ban')
  move(1)
  count('admitted')
  const [row = [], ...others] = sums.secondsAfter(0)
  t.strictSame(others, [])
  t.equal(row[0], first)
  t.equal(row[1 + place('admitted')], 3)
  t.equal(row[1 + place('ban')], 1)
  t.equal(row[1 + ownAt + bucketOf(ownBounds, 0.2)], 4)
  t.equal(row[1 + countsOfRow], 0.8)
  t.strictSame(sums.minutes(), [[first / 60 - 0.5, ...row.slice(1)]])
  move(10_000)
  t.strictSame(
    sums.secondsAfter(first).map(([second]) => second),
    [first + 1],
    'seconds without requests are left out',
  )
  t.equal(sums.close(), first + 10, 'but are over as well')
  t.end()
})

t.test('900 seconds and 1,440 minutes are kept, in at most 0.7 MB', (t) => {
  const { sums, count, move } = movedSums()
  for (let i = 0; i < 1_000; i++) {
    count('day')
    move(1_000)
  }
  t.equal(sums.secondsAfter(0).length, 900)
  const minutes = sums.minutes()
  t.equal(
    minutes.reduce((all, row) => all + (row[1 + place('day')] ?? 0), 0),
    1_000,
  )
  move(1_440 * 60_000)
  count('admitted')
  move(1_000)
  t.equal(sums.minutes().length, 1, 'what is a day old is forgotten')
  const rows = [new SumRows(900), new SumRows(1_440)]
  const bytes = rows.reduce((all, { counts, sumsMs, size }) => {
    return all + counts.byteLength + sumsMs.byteLength + size * 8
  }, 0)
  t.ok(bytes < 750_000, `${bytes} bytes`)
  t.end()
})

t.test('the clock of the system changes no second', (t) => {
  let [now, ticks] = [startMs, 0]
  const sums = new LiveSums({ clock: () => now, ticks: () => ticks })
  sums.countUnmeasured(0, ticks)
  now -= 3_600_000
  ticks += 1_500
  sums.countUnmeasured(0, ticks)
  ticks += 1_000
  t.strictSame(
    sums.secondsAfter(0).map(([second]) => second),
    [startMs / 1_000, startMs / 1_000 + 1],
  )
  t.end()
})

t.test('the keys that were refused most are those of the last minute, in bounded memory', (t) => {
  const keys = new RefusedKeys()
  const callerOf = (id: string) => ({ id, name: id, plan: 'free' }) as Caller
  const [busy, calm] = [callerOf('busy'), callerOf('calm')]
  for (let second = 100; second < 130; second++) {
    keys.count(busy, refusers.indexOf('minute'), second)
    keys.count(busy, refusers.indexOf('ban'), second)
  }
  keys.count(calm, refusers.indexOf('day'), 130)
  const told = (second: number) =>
    keys.top(20, second).map(({ caller, by, count }) => `${caller.id} ${by} ${count}`)
  t.strictSame(told(130), ['busy minute 30', 'busy ban 30', 'calm day 1'])
  t.strictSame(told(169), ['busy minute 20', 'busy ban 20', 'calm day 1'])
  t.strictSame(told(189), ['calm day 1'])
  t.strictSame(told(500), [])
  for (let i = 0; i < 20_000; i++) {
    keys.count(callerOf(`key-${i}`), 0, 600)
    if (i % 10 === 0) keys.count(busy, 0, 600)
  }
  const [first, second] = keys.top(2, 600)
  t.match(first, { caller: busy, count: 2_000 }, 'a busy one stays among many')
  t.ok((second?.count ?? 0) <= 1)
  t.end()
})
