import type { StoreSettings } from '../../gateway/front/config/config.ts'
import { quotaOf } from '../../gateway/front/keys/key.ts'
import { gathered } from '../../gateway/office/ledger/gather.ts'
import { packed } from '../../gateway/office/ledger/rows.ts'
import { dayMs } from '../../shared/windows.ts'
import { deprecatedCall } from '../../gateway/front/counts/deprecated-calls.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { newKey } from '../contracts/keys.ts'
import { bans, limits, peak } from './filled-store.ts'

/** The account of every hundredth key. */
export const account = 'acme'

/** Fills a store with many keys of a plan that were all used on the last days; gives their ids. */
export async function fillLargely(settings: StoreSettings, plan: string, count: number) {
  const stores = await openStores(settings)
  await stores.ready()
  const nowMs = Date.now()
  const today = Math.floor(nowMs / dayMs)
  const keys = Array.from({ length: count }, (_, i) =>
    newKey({ name: `Key ${i}`, plan, note: 'a note', ...(i % 100 === 0 ? { account } : {}) }),
  )
  await stores.keys.add(keys)
  for (const key of keys) {
    void stores.quota.decide(quotaOf(key), { key: key.id, cost: 3, limits, bans })
  }
  for (const key of keys.filter((_, i) => i % 20 === 0)) {
    await stores.quota.ban(quotaOf(key), key.id, nowMs + 3_600_000)
  }
  for (const back of [0, 1, 2]) {
    const day = today - back
    const tallies = keys.flatMap(({ id }) =>
      ['admitted 2xx', deprecatedCall('GET /r0/old')].map((what) => {
        return { day, key: id, what, count: 7, lastMs: nowMs - back * dayMs }
      }),
    )
    for (let i = 0; i < tallies.length; i += 1_000) {
      const lines = tallies.slice(i, i + 1_000)
      await stores.tallies.add({ by: `day ${back}`, number: i + 1, lines })
    }
    const peaks = keys.map((key) => peak(quotaOf(key), { day, most: { minute: 3, day: 30 } }))
    await stores.peaks.add({ by: 'one', number: back + 1, lines: peaks })
  }
  const change = { by: 'ops', what: 'keys.change', before: null, after: { note: 'a note' } }
  for (let i = 0; i < 1_000; i++) {
    await stores.audit.add({ atMs: nowMs - count + i, subject: keys[i % 10]?.id ?? '', ...change })
  }
  await stores.ledger.begin(today - 2)
  for (const day of [today - 2, today - 1]) {
    await stores.ledger.close({ day, chunks: await packed(await gathered(stores, day)) })
  }
  await stores.close()
  return keys.map(({ id }) => id)
}
