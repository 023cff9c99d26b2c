import type { Test } from 'tap'
import {
  chunksKept,
  storedMs,
  type RefusalChunk,
  type RefusalStore,
} from '../../gateway/front/counts/refusal-store.ts'

type Start = (t: Test) => Promise<Readonly<{ first: RefusalStore; second: RefusalStore }>>

/** The promises of a store of refused and failed answers, which two gateways use. */
export function refusalStoreContract(t: Test, name: string, start: Start): Promise<unknown> {
  return t.test(`a store of refusals: ${name}`, async (t) => {
    const { first, second } = await start(t)
    const now = Date.UTC(2026, 10, 20, 12)
    const chunk = (more: Partial<RefusalChunk>): RefusalChunk => ({
      ...{ by: 'one', place: 0, lastMs: now },
      ...{ hashes: Buffer.from([0, 10, 255, 128]), answers: Buffer.from([255, 0, 13, 10]) },
      ...more,
    })
    const indexes = async (afterMs = now - storedMs) => {
      const all = await second.indexes(afterMs)
      return all.map(({ by, place, lastMs, hashes }) => [by, place, lastMs - now, [...hashes]])
    }
    t.strictSame(await indexes(), [])
    t.equal(await first.answers(chunk({})), undefined, 'nothing is there')

    await first.put(chunk({}))
    await first.put(chunk({}))
    t.strictSame(
      await indexes(),
      [['one', 0, 0, [0, 10, 255, 128]]],
      'a repeated one is there once',
    )
    t.strictSame([...((await second.answers(chunk({}))) ?? [])], [255, 0, 13, 10], 'any bytes')

    const fuller = { lastMs: now + 5, hashes: Buffer.alloc(8), answers: Buffer.from('fuller') }
    await first.put(chunk(fuller))
    await second.put(chunk({ by: 'two', lastMs: now + 1 }))
    t.strictSame(
      new Set(await indexes()),
      new Set([
        ['one', 0, 5, [...fuller.hashes]],
        ['two', 0, 1, [0, 10, 255, 128]],
      ]),
      'a later one takes the place of its gateway',
    )
    t.equal(String(await second.answers(chunk({}))), 'fuller')
    t.strictSame(await indexes(now + 1), [['one', 0, 5, [...fuller.hashes]]], 'later ones alone')

    for (let place = 0; place < chunksKept; place++) {
      await first.put(chunk({ by: 'three', place, lastMs: now + place }))
    }
    const ofThree = (await indexes()).filter(([by]) => by === 'three')
    t.equal(new Set(ofThree.map(([, place]) => place)).size, chunksKept, 'all places')
  })
}
