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
      ...{ quota: 'key:a', day: today, most: { minute: 5, day: 50 }, refused: {} },
      ...more,
    })
    const listed = async (store: PeakStore, fromDay: number, toDay: number) => {
      const all: QuotaPeaks[] = []
      for await (const some of store.list(fromDay, toDay)) all.push(...some)
      const days = all.flatMap(daysOf)
      t.equal(new Set(all.map(({ quota }) => quota)).size, all.length, 'each quota once')
      return days.sort((a, b) => a.quota.localeCompare(b.quota) || a.day - b.day)
    }

    const batch = { by: 'g1', number: 1, lines: [peak({ refused: { minute: 2 } })] }
    await first.add(batch)
    await first.add(batch)
    await second.add({ by: 'g2', number: 1, lines: [peak({ most: { minute: 9, day: 40 } })] })
    const more = { refused: { minute: 1, day: 4 } }
    await second.add({
      by: 'g2',
      number: 2,
      lines: [peak({ most: { minute: 1, day: 1 }, ...more })],
    })
    t.strictSame(
      await listed(first, today, today),
      [peak({ most: { minute: 9, day: 50 }, refused: { minute: 3, day: 4 } })],
      'the highest of both, and refusals summed, a repeated batch once',
    )

    const account = 'account:Zoë & Söhne'
    await first.add({
      ...{ by: 'g1', number: 2 },
      lines: [
        peak({ day: today - 2, most: { minute: 60, day: 1_000_000_000_000 } }),
        peak({ day: today + 3 }),
        peak({ quota: account, day: today - 1, most: { minute: 7, day: 50 } }),
        peak({ quota: account, day: today - 3, most: { minute: 8, day: 50 }, refused: { day: 1 } }),
        peak({ day: today - 2, most: { minute: 61, day: 3 } }),
      ],
    })
    t.strictSame(
      await listed(second, today - 3, today + 3),
      [
        peak({ quota: account, day: today - 3, most: { minute: 8, day: 50 }, refused: { day: 1 } }),
        peak({ quota: account, day: today - 1, most: { minute: 7, day: 50 } }),
        peak({ day: today - 2, most: { minute: 61, day: 1_000_000_000_000 } }),
        peak({ most: { minute: 9, day: 50 }, refused: { minute: 3, day: 4 } }),
        peak({ day: today + 3 }),
      ],
      'each day by itself, in whatever order they come',
    )
    t.strictSame(await listed(first, today + 1, today + 2), [])
    t.strictSame(await listed(first, today + 3, today + 9), [peak({ day: today + 3 })])

    const optional = 'key:optional'
    const ofOptional = (day: number, more: Partial<QuotaDay>) =>
      peak({ quota: optional, day, ...more })
    const most = { minute: 5, day: 50 }
    await first.add({
      ...{ by: 'g1', number: 600 },
      lines: [
        ofOptional(today - 2, {}),
        ofOptional(today - 1, { most: { ...most, month: 800 } }),
        ofOptional(today, { most: { ...most, second: 0, month: 900 }, refused: { month: 2 } }),
      ],
    })
    await second.add({
      ...{ by: 'g2', number: 600 },
      lines: [
        ofOptional(today, {
          most: { ...most, hour: 7, month: 850 },
          refused: { month: 1, hour: 4 },
        }),
      ],
    })
    t.strictSame(
      (await listed(first, today - 2, today)).filter(({ quota }) => quota === optional),
      [
        ofOptional(today - 2, {}),
        ofOptional(today - 1, { most: { ...most, month: 800 } }),
        ofOptional(today, {
          most: { ...most, second: 0, hour: 7, month: 900 },
          refused: { month: 3, hour: 4 },
        }),
      ],
      'optional windows, where they were recorded',
    )

    // Many quotas, and one that is used for longer than days are kept.
    const many = Array.from({ length: 900 }, (_, i) =>
      peak({ quota: `key:${i}`, most: { minute: i, day: 50 } }),
    )
    await first.add({ by: 'g1', number: 601, lines: many })
    const found = await listed(second, today, today)
    t.equal(found.length, 902)
    t.ok(
      found.every(
        ({ quota, most }) => ['key:a', optional].includes(quota) || quota === `key:${most.minute}`,
      ),
    )
    for (let i = 1; i < rememberedDays + 5; i++) {
      await first.add({
        by: 'g1',
        number: 601 + i,
        lines: [peak({ day: today + i, most: { minute: i, day: 50 } })],
      })
    }
    const last = today + rememberedDays + 4
    await first.add({ by: 'g1', number: 700, lines: many.map((each) => ({ ...each, day: last })) })
    const kept = await listed(first, today - 3, last)
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
