import type { Test } from 'tap'
import type { Tally, TallyStore } from '../../gateway/records/tally-store.ts'

/** The contract of `TallyStore`. Each adapter runs it with two views of one store. */
export function tallyStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<Readonly<{ first: TallyStore; second: TallyStore }>>,
): Promise<unknown> {
  return t.test(`a store of tallies: ${name}`, async (t) => {
    const { first, second } = await open(t)
    const all = async (from: number, to: number): Promise<Tally[]> => {
      const found: Tally[] = []
      for await (const tally of first.list(from, to)) found.push(tally)
      return found.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    }
    const tally = (more: Partial<Tally> = {}): Tally => {
      return { day: 20_000, key: 'a', what: 'GET /x y', count: 1, lastMs: 5, ...more }
    }

    await first.add('0', [])
    t.strictSame(await all(19_990, 20_010), [])
    await first.add('1', [
      tally(),
      tally({ key: 'b', count: 2 }),
      tally({ day: 20_001, lastMs: 7 }),
    ])
    await second.add('2', [tally({ count: 10, lastMs: 3 }), tally({ what: 'other', lastMs: 9 })])
    t.strictSame(await all(20_000, 20_000), [
      tally({ count: 11 }),
      tally({ what: 'other', lastMs: 9 }),
      tally({ key: 'b', count: 2 }),
    ])
    t.strictSame(await all(20_001, 20_005), [tally({ day: 20_001, lastMs: 7 })])

    const some: Tally[] = []
    for await (const each of first.list(19_985, 20_005, 'a', ['other', 'GET /x y'])) some.push(each)
    some.sort((one, next) => one.day - next.day || (one.what < next.what ? -1 : 1))
    const wanted = [tally({ count: 11 }), tally({ what: 'other', lastMs: 9 })]
    t.strictSame(some, [...wanted, tally({ day: 20_001, lastMs: 7 })], 'some of one key')
    const none = await first
      .list(20_000, 20_000, 'nobody', ['other'])
      [Symbol.asyncIterator]()
      .next()
    t.equal(none.done, true)

    const many = Array.from({ length: 3_000 }, (_, i) => tally({ day: 20_002, key: `k${i}` }))
    await Promise.all([first.add('3', many), second.add('4', many)])
    const found = await all(20_002, 20_002)
    t.equal(found.length, many.length)
    t.ok(found.every(({ count }) => count === 2))

    for (const store of [first, first, second]) await store.add('3', many)
    t.strictSame(await all(20_002, 20_002), found, 'a batch that is handed in again adds nothing')
  })
}
