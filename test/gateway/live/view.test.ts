import t from 'tap'
import { LiveSums } from '../../../gateway/front/counts/live-sums.ts'
import { outcomes } from '../../../gateway/front/counts/sum-rows.ts'
import type { Figures, LiveQuestion } from '../../../gateway/office/live/figures.ts'
import type { LiveRange } from '../../../gateway/office/live/snapshot.ts'
import { LiveView } from '../../../gateway/office/live/view.ts'

const startMs = Date.UTC(2026, 5, 15, 12, 0, 3)
const admitted = outcomes.indexOf('admitted')

/** A view of gateways, each with a clock that is wrong by `aheadMs`; the test moves all clocks. */
function viewOf(range: LiveRange, aheadMs: readonly number[]) {
  let ticks = 0
  const begin = (ahead: number) =>
    new LiveSums({ clock: () => startMs + ticks + ahead, ticks: () => ticks })
  const sums = aheadMs.map(begin)
  const view = new LiveView(range)
  const answer = (
    each: LiveSums,
    i: number,
    { known, seconds, minutes }: LiveQuestion,
  ): Figures => {
    const id = `gateway-${i}`
    const { nowMs, sinceMs } = each
    const second = each.close()
    return {
      ...{ id, name: id, nowMs, sinceMs, second, refusals: [], refusal: 0, refusedKeys: [] },
      seconds: each.secondsAfter(known[id]?.second ?? second - seconds),
      minutes: minutes && !known[id] ? each.minutes() : [],
      ...{ routes: [], failures: [], targets: [], isReachable: true, config: null },
    }
  }
  return {
    move: (seconds: number) => (ticks += seconds * 1_000),
    /** Another gateway starts. */
    begin: (ahead: number) => sums.push(begin(ahead)),
    /** Counts requests at one gateway, each of a duration. */
    count: (gateway: number, ...durationsMs: number[]) => {
      for (const ms of durationsMs) {
        const times = { beganAtMs: ticks - ms, sentAtMs: 0, answeredAtMs: 0 }
        sums[gateway]?.count(times, admitted, ticks)
      }
    },
    /** Asks all gateways, and gives the rows that have changed since the time before. */
    ask: (since?: LiveView['mark']) => {
      const question = view.question(900)
      view.take(
        sums.map((each, i) => answer(each, i, question)),
        sums.length,
        startMs + ticks,
      )
      const { range, lastMinute } = view.snapshot(startMs + ticks, since)
      const rows = (range?.rows ?? []).map(({ at, requests }) => [at - startMs / 1_000, requests])
      return { range, rows, lastMinute, mark: view.mark }
    },
  }
}

t.test('15 minutes come in rows of 5 s, which grow until they are over', (t) => {
  const { move, count, ask } = viewOf('15m', [0, 7_000])
  count(0, 1)
  move(1)
  const first = ask()
  t.strictSame(first.range?.step, 5)
  t.strictSame(first.rows, [[-3, 1]], 'the first one begins at second 0')
  count(1, 1, 1)
  move(1)
  const second = ask(first.mark)
  t.strictSame(second.rows, [[-3, 3]], 'the same one, of both gateways by our clock')
  move(1)
  count(0, 1)
  move(1)
  t.strictSame(ask(second.mark).rows, [[2, 1]], 'only what has changed')
  move(894)
  const { rows, range, lastMinute } = ask()
  t.strictSame([rows, range?.sums.requests], [[[2, 1]], 1], 'what is older is forgotten')
  t.equal(lastMinute.requests, 0)
  t.end()
})

t.test(
  'figures are complete since the last gateway has started, by the clock that is asked',
  (t) => {
    const { move, begin, ask } = viewOf('day', [0, 7_000])
    const since = () => Date.parse(ask().range?.since ?? '') - startMs
    move(2)
    t.equal(since(), 0)
    move(600)
    begin(-60_000)
    move(5)
    t.equal(since(), 602_000)
    t.end()
  },
)

t.test('the p99 of a row is that of all its requests, not of one of its seconds', (t) => {
  const { move, count, ask } = viewOf('15m', [0, 0])
  move(2)
  for (let second = 0; second < 5; second++) {
    count(second % 2, ...Array.from({ length: 39 }, () => 1), second === 2 ? 100 : 1)
    move(1)
  }
  const [row] = ask().range?.rows ?? []
  t.equal(row?.requests, 200)
  t.ok((row?.own?.p99 ?? 9) < 2, 'one of 200 is slow')
  t.end()
})

t.test('a day counts the seconds that its minutes have once', (t) => {
  const { move, count, ask } = viewOf('day', [0])
  count(0, 1, 1)
  move(90)
  count(0, 1)
  move(1)
  const { rows, lastMinute, mark } = ask()
  t.strictSame(rows, [
    [-3, 2],
    [57, 1],
  ])
  t.equal(lastMinute.requests, 1)
  count(0, 1)
  move(1)
  t.strictSame(ask(mark).rows, [[57, 2]])
  t.end()
})
