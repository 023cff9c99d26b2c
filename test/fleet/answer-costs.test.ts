import { readFileSync } from 'node:fs'
import t from 'tap'
import { usage } from '../../gateway/front/counts/usage.ts'
import { usedIn } from '../../gateway/front/limits/counters.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { stateOfHash } from '../../gateway/front/stores/redis/quota-hash.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { ledgerLines } from '../../gateway/office/ledger/ledger.ts'
import { dayMs, windowOf } from '../../shared/windows.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'
import { seeded } from '../support/seeded.ts'
import { until } from '../support/until.ts'

t.test('what the backend has told is in Redis, usage and ledger to the point', async (t) => {
  const random = seeded(46)
  let told = 0
  const upstream = await startUpstream(t, (_request, response) => {
    const [cost, inTrailer] = [random(40), random(2) === 1]
    told += cost
    if (!inTrailer) return void response.setHeader('X-Gateway-Cost', cost).end('{}')
    response.writeHead(200, { Trailer: 'X-Gateway-Cost' }).write('{')
    setTimeout(() => {
      response.addTrailers({ 'X-Gateway-Cost': String(cost) })
      response.end('}')
    }, random(30))
  })
  const redis = await startRedis(t)
  const fleet = await startFleet(t, {
    upstream: upstream.url,
    store: `redis: "${redis.url}"`,
    more: 'plans: { free: { perMinute: unlimited, perHour: unlimited, perDay: 1000000 } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: answer } } ]`,
    environments: [{}, {}, {}, {}],
  })
  const headers = await fleet.key({ account: 'acme' })
  const calls = fleet.urls.map(caller)
  const day = Math.floor(Date.now() / dayMs)
  let asked = 0
  const one = async (): Promise<void> => {
    while (asked < 1_000) {
      const call = calls[asked++ % calls.length]
      t.equal((await call?.('GET', '/v1/x', undefined, headers))?.status, 200)
    }
  }
  await Promise.all(Array.from({ length: 64 }, one))
  const used = async (name: 'day' | 'month') => {
    const state = stateOfHash(await redis.client.hgetall('tollgate:quota:account:acme'))
    return state && usedIn(state, windowOf(name))
  }
  await until(async () => (await used('day')) === told)
  t.equal(await used('month'), told)
  for (const { child } of fleet.processes) child.kill('SIGTERM')
  for (const { ended } of fleet.processes) t.equal((await ended).code, 0)
  const { store } = parseConfig(readFileSync(fleet.file, 'utf8'), {}, 'fleet.yaml')
  const stores = await openStores(store, { forCommandLine: true })
  t.teardown(() => stores.close())
  const lines = await usage(stores, { fromDay: day, toDay: day })
  t.match(lines, [{ points: told }])
  let inLedger = 0
  for await (const { points } of ledgerLines(
    stores,
    { fromDay: day, toDay: day, by: 'account' },
    Date.now(),
  )) {
    inLedger += points
  }
  t.equal(inLedger, told)
})
