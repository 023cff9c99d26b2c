import type { Test } from 'tap'
import {
  keptMinutes,
  mostLines,
  type RefusedKey,
  type TimelineStore,
} from '../../gateway/front/counts/timeline-store.ts'

type Start = (t: Test) => Promise<Readonly<{ first: TimelineStore; second: TimelineStore }>>

/** The promises of a store of timelines, which two gateways use. */
export function timelineStoreContract(t: Test, name: string, start: Start): Promise<unknown> {
  return t.test(`a store of timelines: ${name}`, async (t) => {
    const { first, second } = await start(t)
    const now = 29_000_000
    const line = (more: Partial<RefusedKey>): RefusedKey => ({
      ...{ key: 'a', minute: now, code: 'rate_limit_exceeded', reason: 'minute' },
      ...{ count: 1, limit: 60, used: 60 },
      ...more,
    })
    const told = { minute: now, code: 'rate_limit_exceeded', reason: 'minute' }
    Object.assign(told, { count: 1, limit: 60, used: 60 })

    const batch = { by: 'g1', number: 1, lines: [line({ count: 3 }), line({ key: 'b' })] }
    await first.add(batch)
    await first.add(batch)
    await second.add({ by: 'g2', number: 1, lines: [line({ count: 4, limit: 80, used: 70 })] })
    await second.add({ by: 'g2', number: 2, lines: [line({ reason: 'day', limit: 9 })] })
    await first.add({ by: 'g1', number: 2, lines: [line({ minute: now - 61 })] })
    t.strictSame(
      new Set(await second.list('a', now - 100, now)),
      new Set([
        { ...told, minute: now - 61 },
        { ...told, count: 7, limit: 80, used: 70 },
        { ...told, reason: 'day', limit: 9 },
      ]),
      'sums up by minute and reason, a repeated batch once',
    )
    t.strictSame(await first.list('b', now, now), [told], 'each key for itself')
    t.strictSame(await first.list('a', now - 61, now - 1), [{ ...told, minute: now - 61 }])
    t.strictSame(await first.list('nobody', 0, now), [])

    await first.add({ by: 'g3', number: 1, lines: [line({ key: 'd' })] })
    await second.add({ by: 'g4', number: 1, lines: [line({ key: 'd', minute: now + 61 })] })
    await first.add({ by: 'g3', number: 1, lines: [line({ key: 'd' })] })
    const counts = (await first.list('d', now, now + 61)).map(({ count }) => count)
    t.strictSame(counts, [1, 1], 'a batch that is repeated after an hour began elsewhere')

    // More minutes than are kept, and more than are told.
    const from = now - keptMinutes - 300
    for (let minute = from, number = 3; minute < now - 8_000; minute += 60, number++) {
      const lines = Array.from({ length: 60 }, (_, i) => line({ key: 'c', minute: minute + i }))
      await first.add({ by: 'g1', number, lines })
    }
    const all = await first.list('c', 0, now)
    t.equal(all.length, mostLines)
    const minutes = all.map(({ minute }) => minute)
    t.equal(minutes.at(-1), from + Math.ceil((now - 8_000 - from) / 60) * 60 - 1, 'the latest')
    t.equal((minutes.at(-1) ?? 0) - (minutes[0] ?? 0), mostLines - 1)
    await first.add({ by: 'g1', number: 500, lines: [line({ key: 'c', minute: now + 9_000 })] })
    const left = await first.list('c', 0, now + 10_000)
    t.ok(
      left.every(({ minute }) => minute >= now + 9_000 - keptMinutes - 60),
      'forgets what is older than 7 days',
    )
    t.equal(left.at(-1)?.minute, now + 9_000)
  })
}
