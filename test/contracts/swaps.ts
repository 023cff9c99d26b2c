import type { Test } from 'tap'
import type { ProcessRound, SwapStore } from '../../gateway/front/swaps/store.ts'
import { checking, stepped } from '../../gateway/front/swaps/progress.ts'

/** The contract of `SwapStore`. Each adapter runs it with two views of one store. */
export function swapStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<{ first: SwapStore; second: SwapStore }>,
): Promise<unknown> {
  return t.test(`a store of swaps: ${name}`, async (t) => {
    const { first, second } = await open(t)
    const swap = { upstream: 'an{im}als: one', id: 'abc' }
    const nothing = { version: 0, progress: undefined, counts: [] }
    t.match(await first.look(swap), nothing)
    const told = { by: 'g1', round: 0, counts: 'one' }
    t.match(await first.look(swap, told), nothing, 'counts of nothing are dropped')

    const begun = checking('g1', 1_000)
    const claims = await Promise.all([first, second].map((view) => view.change(swap, 0, begun)))
    t.strictSame(claims.sort(), [false, true], 'one of two is first')
    t.match(await second.look(swap), { version: 1, progress: begun, counts: [] })
    t.match(await first.look({ ...swap, id: 'other' }), nothing, 'another description is another')

    // A store may answer a look before it has what came with it.
    const lookAfter = async (view: SwapStore, told: ProcessRound) => {
      await view.look(swap, told)
      return (await view.look(swap, told)).counts
    }
    t.strictSame(await lookAfter(first, { ...told, counts: 'two' }), ['two'], 'the latest')
    const both = await lookAfter(second, { ...told, by: 'g2', counts: 'three' })
    t.strictSame([...both].sort(), ['three', 'two'])
    const late = await second.look(swap, { by: 'g3', round: 7, counts: 'late' })
    t.equal(late.counts.length, 2, 'counts of another round are dropped')

    t.notOk(await second.change(swap, 0, begun), 'a version that is gone')
    t.ok(await second.change(swap, 1, { ...begun, isPaused: true }))
    t.equal((await first.look(swap)).counts.length, 2, 'the same round keeps its counts')
    const next = stepped(begun, 1, { requests: 9, failures: 1, p95Ms: 3.5 }, 2_000)
    t.ok(await first.change(swap, 2, next))
    const seen = await second.look(swap, told)
    t.match(seen, { version: 3, progress: next, counts: [] }, 'a new round begins with none')
    t.ok(Math.abs(seen.nowMs - Date.now()) < 60_000)
  })
}
