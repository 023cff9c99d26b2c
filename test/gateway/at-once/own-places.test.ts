import t, { type Test } from 'tap'
import { OwnPlaces } from '../../../gateway/front/limits/own-places.ts'
import type { LimitedPart } from '../../../gateway/front/limits/places.ts'
import type { PlaceReport } from '../../../gateway/front/limits/store.ts'

const whole: LimitedPart = { part: undefined, limit: 3 }

/** A gateway's places, with a clock that the test moves, and a store that may fail. */
function start(t: Test, goneOf?: (gateways: readonly string[]) => Promise<readonly string[]>) {
  let ticks = 0
  let waits: { run: () => void; atTicks: number }[] = []
  const told: string[] = []
  const store = { fails: false }
  const places = new OwnPlaces({
    by: 'g',
    ticks: () => ticks,
    goneOf,
    tell: (reports: readonly PlaceReport[]) => {
      if (store.fails) return Promise.reject(new Error('away'))
      for (const { quota, told: report } of reports) {
        told.push(
          `${quota} ${[...report.held].map(([part, count]) => `${part}${count}`).join(' ')}`,
        )
      }
      return Promise.resolve()
    },
    wait(run, afterMs) {
      const wait = { run, atTicks: ticks + afterMs }
      waits.push(wait)
      return () => (waits = waits.filter((each) => each !== wait))
    },
  })
  t.teardown(() => places.close())
  /** Time passes, and what is due runs. */
  const pass = async (ms: number): Promise<void> => {
    ticks += ms
    const due = waits.filter(({ atTicks }) => atTicks <= ticks)
    waits = waits.filter((wait) => !due.includes(wait))
    for (const { run } of due) run()
    await new Promise((go) => setImmediate(go))
  }
  const take = (quota = 'q') => places.end(places.begin(quota, [whole]), true)
  const used = () => places.ownIn('q', [whole])[0]?.used
  return { places, told, store, pass, take, used }
}

t.test('places that were given back are told in one report', async (t) => {
  const { told, pass, take, used } = start(t)
  const [one, two] = [take(), take()]
  take('other')
  t.equal(used(), 2)
  await pass(0)
  t.strictSame(told, [], 'questions tell what is taken')
  one?.leave()
  two?.leave()
  await pass(0)
  t.strictSame(told, ['q 0'])
})

t.test('a report that fails is made again', async (t) => {
  const { told, store, pass, take } = start(t)
  const place = take()
  store.fails = true
  place?.leave()
  await pass(0)
  store.fails = false
  await pass(1_000)
  await pass(0)
  t.strictSame(told, ['q 0'])
})

t.test('a place is told anew before the store forgets it', async (t) => {
  const { places, told, pass, take } = start(t)
  take()
  for (let minute = 0; minute < 59; minute++) for (let s = 0; s < 60; s++) await pass(1_000)
  t.strictSame(told, [])
  for (let s = 0; s < 62; s++) await pass(1_000)
  t.strictSame(told, ['q 1'], 'each hour')
  places.reconnected()
  await pass(1_000)
  await pass(0)
  t.strictSame(told, ['q 1', 'q 1'], 'when the store was connected to')
  await pass(9_000)
  await pass(0)
  t.equal(told.length, 3, 'and after a silence that others may take for its end')
})

t.test('also none are told anew, where there were some lately', async (t) => {
  const { places, told, pass, take } = start(t)
  take()?.leave()
  await pass(0)
  await pass(1_000)
  places.reconnected()
  await pass(1_000)
  await pass(0)
  t.strictSame(told, ['q 0', 'q 0'])
})

t.test('a place behind an open question is told once that is settled', async (t) => {
  const { places, told, pass, take, used } = start(t)
  const open = places.begin('q', [whole])
  const place = take()
  t.equal(used(), 1)
  t.match(places.begin('q', [whole]).ask, { number: 3, settled: 0, held: new Map([['', 0]]) })
  place?.leave()
  t.equal(used(), 0)
  await pass(0)
  t.strictSame(told, [])
  places.giveUp(open)
  await pass(0)
  t.strictSame(told, ['q 0'])
})

t.test('who has no gateway any more is named for a second', async (t) => {
  const asked: string[] = []
  const { places, pass } = start(t, (gateways) => {
    asked.push(gateways.join(' '))
    return Promise.resolve(gateways.filter((each) => each === 'dead'))
  })
  const named = () => {
    const question = places.begin('q', [whole])
    places.end(question, false)
    return question.ask.gone
  }
  places.hear(['g', 'dead', 'alive'])
  t.strictSame(asked, [], 'not before all of a fleet had the time to tell of themselves')
  await pass(5_001)
  places.hear(['g'])
  t.strictSame(asked, [], 'nor where all are its own')
  places.hear(['g', 'dead', 'alive'])
  places.hear(['g', 'dead', 'alive'])
  await pass(0)
  t.strictSame(asked, ['dead alive'], 'once a second')
  t.strictSame(named(), ['dead'])
  await pass(1_001)
  t.strictSame(named(), [])
})

t.test('a place is kept as long as somebody stays', async (t) => {
  const { take, used } = start(t)
  const place = take()
  place?.stay()
  place?.leave()
  t.equal(used(), 1)
  place?.leave()
  t.equal(used(), 0)
})
