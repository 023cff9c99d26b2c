import type { Test } from 'tap'
import {
  rememberedDays,
  type Tally,
  type TallyStore,
} from '../../gateway/front/counts/tally-store.ts'

/** The contract of `TallyStore`. Each adapter runs it with two views of one store. */
export function tallyStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<Readonly<{ first: TallyStore; second: TallyStore }>>,
): Promise<unknown> {
  return t.test(`a store of tallies: ${name}`, async (t) => {
    const { first, second } = await open(t)
    const gathered = async (tallies: AsyncIterable<Tally>): Promise<Tally[]> => {
      const found: Tally[] = []
      for await (const tally of tallies) found.push(tally)
      return found.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
    }
    const all = (from: number, to: number, keys?: string[]): Promise<Tally[]> =>
      gathered(first.list(from, to, keys))
    const tally = (more: Partial<Tally> = {}): Tally => {
      return { day: 20_000, key: 'a', what: 'GET /x y', count: 1, lastMs: 5, ...more }
    }

    await first.add({ by: 'g0', number: 1, lines: [] })
    t.strictSame(await all(19_990, 20_010), [])
    await first.add({
      by: 'g1',
      number: 1,
      lines: [tally(), tally({ key: 'b', count: 2 }), tally({ day: 20_001, lastMs: 7 })],
    })
    await second.add({
      by: 'g2',
      number: 1,
      lines: [tally({ count: 10, lastMs: 3 }), tally({ what: 'other', lastMs: 9 })],
    })
    t.strictSame(await all(20_000, 20_000), [
      tally({ count: 11 }),
      tally({ what: 'other', lastMs: 9 }),
      tally({ key: 'b', count: 2 }),
    ])
    t.strictSame(await all(20_001, 20_005), [tally({ day: 20_001, lastMs: 7 })])

    const many = Array.from({ length: 3_000 }, (_, i) => tally({ day: 20_002, key: `k${i}` }))
    const [g1, g2] = ['g1', 'g2'].map((by) => ({ by, lines: many }))
    if (!g1 || !g2) throw new Error('two were asked for')
    await Promise.all([first.add({ ...g1, number: 2 }), second.add({ ...g2, number: 2 })])
    const found = await all(20_002, 20_002)
    t.equal(found.length, many.length)
    t.ok(found.every(({ count }) => count === 2))

    for (const store of [first, first, second]) await store.add({ ...g1, number: 2 })
    t.strictSame(await all(20_002, 20_002), found, 'a batch that is handed in again adds nothing')

    t.strictSame(
      await all(20_001, 20_003, ['k7', 'k2999', 'nobody']),
      ['k2999', 'k7'].map((key) => tally({ day: 20_002, key, count: 2 })),
      'some keys',
    )
    t.strictSame(await all(20_000, 20_000, ['k7']), [], 'of those days only')
    const keys = many.map(({ key }) => key)
    t.equal((await all(20_002, 20_002, keys)).length, many.length)

    const later = tally({ day: 20_002 + rememberedDays })
    for (let number = 3; number < 10; number++)
      await first.add({ by: 'g1', number, lines: [later] })
    t.strictSame(await all(20_002, 20_002), [], 'days that are older than is kept go')
    t.strictSame(await all(20_003, later.day), [{ ...later, count: 7 }])
  })
}

function textOf({ day, key, what }: Tally): string {
  return `${day} ${key} ${what}`
}
