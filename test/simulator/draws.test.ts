import t from 'tap'
import { Draws } from './draws.ts'
import { Timeline } from './timeline.ts'
import { Trace } from './trace.ts'

t.test('a seed draws the same on any machine, and a trace has the same hash', (t) => {
  const draws = new Draws(7)
  const drawn = Array.from({ length: 8 }, () => draws.below(1_000_000))
  t.strictSame(drawn, [11704, 61958, 976907, 699028, 521445, 405521, 466232, 239925])
  const trace = new Trace()
  for (const number of drawn) trace.note(`${number} was drawn`)
  t.equal(trace.hash, '747f7cfcafddd532')
  t.end()
})

t.test('all numbers below a bound are drawn, and weights count', (t) => {
  const draws = new Draws(1)
  const counts = [0, 0, 0]
  for (let i = 0; i < 3_000; i++) {
    const drawn = draws.below(3)
    counts[drawn] = (counts[drawn] ?? 0) + 1
  }
  t.ok(counts.every((count) => count > 900))
  const heavy = Array.from({ length: 1_000 }, () =>
    draws.weighted([
      [9, 'often'],
      [1, 'seldom'],
    ]),
  )
  t.ok(heavy.filter((item) => item === 'seldom').length > 50)
  t.ok(heavy.filter((item) => item === 'often').length > 800)
  t.end()
})

t.test('what is planned runs in its order, whatever leaps the clock makes', (t) => {
  const timeline = new Timeline(1_000)
  const ran: string[] = []
  const plan = (name: string, afterMs: number) =>
    timeline.later(() => ran.push(`${name} ${timeline.nowMs}`), afterMs)
  plan('c', 30)
  plan('a', 10)
  plan('b', 10)
  plan('never', 20)()
  t.ok(timeline.next())
  timeline.nowMs += 500
  while (timeline.next());
  t.strictSame(ran, ['a 1010', 'b 1510', 'c 1510'])
  t.end()
})
