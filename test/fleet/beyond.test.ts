import { readFileSync } from 'node:fs'
import t from 'tap'
import { openStores } from '../../gateway/front/stores/open.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { ledgerLines } from '../../gateway/office/ledger/ledger.ts'
import { dayMs } from '../../shared/windows.ts'
import { startServed } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'

t.test(
  'four gateways let in what is included and beyond, and the ledger has both to the point',
  async (t) => {
    const upstream = await startUpstream(t)
    const redis = await startRedis(t)
    const fleet = await startServed(t, {
      upstream: upstream.url,
      store: `redis: "${redis.url}"`,
      more: 'plans: { free: { perMinute: unlimited, perDay: unlimited, perMonth: { limit: 100, beyond: meter, upTo: 150% } } }',
      environments: [{}, {}, {}, {}],
    })
    const headers = await fleet.key({ account: 'acme' })
    const calls = fleet.urls.map(caller)
    const day = Math.floor(Date.now() / dayMs)
    const answers = await Promise.all(
      Array.from(
        { length: 400 },
        (_, i) => calls[i % 4]?.('GET', '/v1/x', undefined, headers) ?? Promise.reject(new Error()),
      ),
    )
    const admitted = answers.filter((answer) => answer.status === 200)
    t.equal(admitted.length, 150)
    t.equal(answers.filter((answer) => answer.status === 429).length, 250)
    const told = admitted.map((answer) => String(answer.headers['x-ratelimit-notice'] ?? ''))
    t.strictSame(
      told.filter((notice) => notice.includes('beyond')).sort(),
      Array.from({ length: 50 }, (_, i) => `month; beyond=${i + 1}`).sort(),
    )
    for (const { signal } of fleet.processes) signal('SIGTERM')
    for (const { ended } of fleet.processes) t.equal((await ended).code, 0)
    const { store } = parseConfig(readFileSync(fleet.file, 'utf8'), {}, 'fleet.yaml')
    const stores = await openStores(store, { forCommandLine: true })
    t.teardown(() => stores.close())
    const query = { fromDay: day, toDay: day, by: 'account' } as const
    for await (const { points, beyond } of ledgerLines(stores, query, Date.now())) {
      t.strictSame([points, beyond], [150, 50])
    }
  },
)
