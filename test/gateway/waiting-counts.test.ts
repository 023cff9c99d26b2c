import t from 'tap'
import type { Batch } from '../../gateway/front/shelves/counts.ts'
import type { DayCounts } from '../../gateway/front/counts/caller-counts.ts'
import { countWriter } from '../../gateway/front/counts/count-writer.ts'
import { Tallies } from '../../gateway/front/counts/tallies.ts'
import type { Tally } from '../../gateway/front/counts/tally-store.ts'
import { Waiting } from '../../gateway/front/counts/waiting.ts'
import { StoreDamaged, StoreUnavailable } from '../../shared/store-errors.ts'

type Count = { name: string; count: number; isWaiting: boolean }
type Line = readonly [name: string, count: number]

/** Counts that wait for a store, which fails as often as it is told to. */
function counting(most = 100) {
  const added: Batch<Line>[] = []
  const store = { failures: 0, meanwhile: (): void => undefined }
  const waiting = new Waiting<Count, Line>({
    ...{ most, batchSize: 3 },
    orderBy: ({ name }) => name,
    take: (count) => {
      const line = [count.name, count.count] as const
      count.count = 0
      return line
    },
    add: (batch) => {
      added.push(batch)
      store.meanwhile()
      return store.failures-- > 0 ? Promise.reject(new Error('down')) : Promise.resolve()
    },
  })
  const counts = [...'gfedcba'].map((name) => ({ name, count: 0, isWaiting: false }))
  const count = (names: string): void => {
    for (const each of counts) {
      if (names.includes(each.name) && waiting.wait(each)) each.count++
    }
  }
  const written = (): string[] => added.map(({ lines }) => lines.flat().join(''))
  return { added, store, waiting, count, written }
}

t.test('counts are handed over in order, in numbered batches of one gateway', async (t) => {
  const { added, waiting, count, written } = counting()
  count('abcdefg')
  count('b')
  await waiting.write()
  t.strictSame(written(), ['a1b2c1', 'd1e1f1', 'g1'])
  t.strictSame(
    added.map(({ number }) => number),
    [1, 2, 3],
  )
  t.equal(new Set(added.map(({ by }) => by)).size, 1)
  await waiting.write()
  t.equal(added.length, 3, 'what hasn’t changed isn’t written')
})

t.test('a batch that isn’t confirmed is repeated unchanged, and later counts follow', async (t) => {
  const { added, store, waiting, count, written } = counting()
  count('abcd')
  store.failures = 2
  for (let i = 0; i < 2; i++) await t.rejects(waiting.write(), { message: 'down' })
  count('ab')
  await waiting.write()
  t.strictSame(written(), ['a1b1c1', 'a1b1c1', 'a1b1c1', 'a1b1d1'])
  t.strictSame(
    added.map(({ number }) => number),
    [1, 1, 1, 2],
  )
})

t.test('counts that come while others are written wait for the next time', async (t) => {
  const { store, waiting, count, written } = counting()
  store.meanwhile = () => count('a')
  count('ag')
  await waiting.write()
  t.strictSame(written(), ['a1g1'])
  await waiting.write()
  t.strictSame(written(), ['a1g1', 'a1'])
})

t.test('no more counts wait than the bound, those of the unconfirmed batch included', async (t) => {
  const { store, waiting, count, written } = counting(4)
  count('defg')
  count('abcdefg')
  store.failures = 1
  await t.rejects(waiting.write())
  count('abcd')
  await waiting.write()
  t.strictSame(written(), ['d2e2f2', 'd2e2f2', 'g2'])
  count('a')
  await waiting.write()
  t.equal(written().at(-1), 'a1')
})

t.test(
  'trouble is told once, and once when it is over; others are written meanwhile',
  async (t) => {
    const told: (string | undefined)[] = []
    let isDown = true
    const write = () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve())
    const writer = countWriter([{ write }], (error) => void told.push(error?.message))
    await writer.flush()
    await writer.flush()
    isDown = false
    await writer.close()
    t.strictSame(told, ['down', undefined])
  },
)

t.test('days are counted apart, and a key goes on where it paused', async (t) => {
  const added: Tally[] = []
  let now = Date.UTC(2026, 10, 20, 23, 59, 59)
  const add = ({ lines }: Batch<Tally>) => {
    added.push(...lines)
    return Promise.resolve()
  }
  const tallies = new Tallies({ add }, () => now)
  const counts: DayCounts = { latest: undefined }
  tallies.count('a', counts, 'x')
  tallies.count('a', counts, 'y', true)
  tallies.count('a', counts, 'x', false, 4)
  now += 1_000
  tallies.count('a', counts, 'x')
  await tallies.write()
  tallies.count('a', counts, 'x')
  await tallies.write()
  const [before, today] = [20_777, 20_778]
  t.strictSame(
    added.map(({ day, what, count, lastMs }) => [day, what, count, lastMs]),
    [
      [before, 'x', 5, 0],
      [before, 'y', 1, now - 1_000],
      [today, 'x', 1, 0],
      [today, 'x', 1, 0],
    ],
  )
})

t.test(
  'one that is damaged keeps no other from being written; an outage is that of all',
  async (t) => {
    const told: (string | undefined)[] = []
    let failure: Error | undefined = new StoreDamaged('damaged')
    const first = { write: () => (failure ? Promise.reject(failure) : Promise.resolve()) }
    let written = 0
    const second = { write: () => Promise.resolve(void written++) }
    const writer = countWriter([first, second], (error) => void told.push(error?.message))
    await writer.flush()
    await writer.flush()
    t.equal(written, 2)
    failure = new StoreUnavailable('out of reach')
    await writer.flush()
    t.equal(written, 2)
    failure = undefined
    await writer.close()
    t.equal(written, 3)
    t.strictSame(told, ['damaged', undefined])
  },
)
