import type { Test } from 'tap'
import type { LastUseStore } from '../../gateway/front/keys/last-use-store.ts'

export type LastUseViews = Readonly<{
  first: LastUseStore
  second: LastUseStore
  /** Moves the clock of a store that has one. */
  setTime: (ms: number) => void
}>

/** The contract of `LastUseStore`. Each adapter runs it with two views of one store. */
export function lastUseStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<LastUseViews>,
): Promise<unknown> {
  return t.test(`a store of last uses: ${name}`, async (t) => {
    const { first, second, setTime } = await open(t)
    const startMs = 1_900_000_000_000
    setTime(startMs)
    const usesOf = async (...ids: string[]): Promise<unknown[]> =>
      (await first.of(ids)).map((uses) => uses && Object.fromEntries(uses))

    t.strictSame(await usesOf('a', 'b'), [undefined, undefined])
    t.equal(await first.since(), undefined)
    await first.note([], startMs)
    t.equal(await second.since(), startMs)
    setTime(startMs + 9)
    await second.note([{ key: 'a', mark: 'm1', atMs: startMs + 5 }], startMs + 9)
    t.equal(await first.since(), startMs, 'it began once')
    t.strictSame(await usesOf('b', 'a'), [undefined, { m1: startMs + 5 }])

    const at = (mark: string, ms: number) => ({ key: 'a', mark, atMs: startMs + ms })
    for (const each of [at('m2', 7), at('m1', 3), at('m1', 6), at('m1', 6)]) {
      await first.note([each], startMs + 9)
      await second.note([each, { ...each, key: 'b' }], startMs + 9)
    }
    const both = { m1: startMs + 6, m2: startMs + 7 }
    t.strictSame(await usesOf('a', 'b'), [both, both], 'of each token the later time stays')

    await first.note(
      ['m3', 'm4', 'm5', 'm6'].map((mark, i) => at(mark, 10 + i)),
      startMs + 9,
    )
    const [kept] = await first.of(['a'])
    t.strictSame([...(kept?.keys() ?? [])].sort(), ['m3', 'm4', 'm5', 'm6'], 'of four tokens')

    const ids = Array.from({ length: 1_200 }, (_, i) => `k${i}`)
    for (let i = 0; i < ids.length; i += 250) {
      const some = ids.slice(i, i + 250).map((key) => ({ key, mark: 'm', atMs: startMs }))
      await first.note(some, startMs + 9)
    }
    const all = await second.of(['nobody', ...ids])
    t.equal(all.length, 1_201)
    t.equal(all[0], undefined)
    t.ok(all.slice(1).every((uses) => uses?.get('m') === startMs))
  })
}
