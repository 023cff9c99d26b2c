import type { Test } from 'tap'
import {
  daysOf,
  type PeakStore,
  type QuotaDay,
  type QuotaPeaks,
} from '../../gateway/front/counts/peak-store.ts'
import { rememberedDays } from '../../gateway/front/counts/tally-store.ts'

type Start = (t: Test) => Promise<Readonly<{ first: PeakStore; second: PeakStore }>>

/** The promises of a store of peaks, which two gateways use. */
export function peakStoreContract(t: Test, name: string, start: Start): Promise<unknown> {
  return t.test(`a store of peaks: ${name}`, async (t) => {
    const { first, second } = await start(t)
    const today = 20_000
    const peak = (more: Partial<QuotaDay>): QuotaDay => ({
      ...{ quota: 'key:a', day: today, minute: 5, used: 50, refusedByMinute: 0, refusedByDay: 0 },
      ...more,
    })
    const listed = async (store: PeakStore, fromDay: number, toDay: number) => {
      const all: QuotaPeaks[] = []
      for await (const some of store.list(fromDay, toDay)) all.push(...some)
      const days = all.flatMap(daysOf)
      t.equal(new Set(all.map(({ quota }) => quota)).size, all.length, 'each quota once')
      return days.sort((a, b) => a.quota.localeCompare(b.quota) || a.day - b.day)
    }

    const batch = { by: 'g1', number: 1, lines: [peak({ refusedByMinute: 2 })] }
    await first.add(batch)
    await first.add(batch)
    await second.add({ by: 'g2', number: 1, lines: [peak({ minute: 9, used: 40 })] })
    const more = { refusedByMinute: 1, refusedByDay: 4 }
    await second.add({ by: 'g2', number: 2, lines: [peak({ minute: 1, used: 1, ...more })] })
    t.strictSame(
      await listed(first, today, today),
      [peak({ minute: 9, used: 50, refusedByMinute: 3, refusedByDay: 4 })],
      'the highest of both, and refusals summed, a repeated batch once',
    )

    const account = 'account:Zoë & Söhne'
    await first.add({
      ...{ by: 'g1', number: 2 },
      lines: [
        peak({ day: today - 2, minute: 60, used: 1_000_000_000_000 }),
        peak({ day: today + 3 }),
        peak({ quota: account, day: today - 1, minute: 7 }),
        peak({ quota: account, day: today - 3, minute: 8, refusedByDay: 1 }),
        peak({ day: today - 2, minute: 61, used: 3 }),
      ],
    })
    t.strictSame(
      await listed(second, today - 3, today + 3),
      [
        peak({ quota: account, day: today - 3, minute: 8, refusedByDay: 1 }),
        peak({ quota: account, day: today - 1, minute: 7 }),
        peak({ day: today - 2, minute: 61, used: 1_000_000_000_000 }),
        peak({ minute: 9, used: 50, refusedByMinute: 3, refusedByDay: 4 }),
        peak({ day: today + 3 }),
      ],
      'each day by itself, in whatever order they come',
    )
    t.strictSame(await listed(first, today + 1, today + 2), [])
    t.strictSame(await listed(first, today + 3, today + 9), [peak({ day: today + 3 })])

    // Many quotas, and one that is used for longer than days are kept.
    const many = Array.from({ length: 900 }, (_, i) => peak({ quota: `key:${i}`, minute: i }))
    await first.add({ by: 'g1', number: 3, lines: many })
    const found = await listed(second, today, today)
    t.equal(found.length, 901)
    t.ok(found.every(({ quota, minute }) => quota === 'key:a' || quota === `key:${minute}`))
    for (let i = 1; i < rememberedDays + 5; i++) {
      await first.add({ by: 'g1', number: 3 + i, lines: [peak({ day: today + i, minute: i })] })
    }
    const last = today + rememberedDays + 4
    await first.add({ by: 'g1', number: 500, lines: many.map((each) => ({ ...each, day: last })) })
    const kept = await listed(first, 0, last)
    const ofOne = kept.filter(({ quota }) => quota === 'key:a').map(({ day }) => day)
    t.equal(ofOne.length, rememberedDays)
    t.equal(ofOne[0], last - rememberedDays + 1, 'forgets what is older than is kept')
    t.strictSame([...new Set(kept.map(({ day }) => day))].length, rememberedDays)
    t.notOk(
      kept.some(({ quota }) => quota === account),
      'and quotas that are not used any more',
    )
  })
}
