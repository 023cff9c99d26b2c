import t from 'tap'
import { parseConfig } from '../../gateway/config/load.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { usage } from '../../gateway/records/usage.ts'
import { startFleet, type Fleet } from '../support/fleet.ts'
import { plans, startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'
import { readFileSync } from 'node:fs'

const dayMs = 86_400_000

/** Today's usage of all keys. */
async function today({ file }: Fleet) {
  const { store } = parseConfig(readFileSync(file, 'utf8'), {}, 'fleet.yaml')
  const stores = openStores(store, { forCommandLine: true })
  try {
    const day = Math.floor(Date.now() / dayMs)
    return await usage(stores, { fromDay: day - 1, toDay: day })
  } finally {
    await stores.close()
  }
}

t.test('four gateways that stop have written down each request', async (t) => {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    response.writeHead(url.endsWith('7') ? 404 : 200).end('{}')
  })
  const fleet = await startFleet(t, {
    upstream: upstream.url,
    more: plans,
    store: `redis: "${redis.url}"`,
    environments: [{}, {}, {}, {}],
  })
  const calls = fleet.urls.map(caller)
  const keys = await Promise.all(Array.from({ length: 15 }, (_, i) => fleet.key({ name: `${i}` })))
  const answers: Record<string, number> = {}
  let admitted = 0
  await Promise.all(
    keys.map(async (headers, name) => {
      for (let i = 0; i < 100; i++) {
        const call = calls[(name + i) % calls.length]
        const { status } = (await call?.('GET', `/v1/${i}`, undefined, headers)) ?? { status: 0 }
        const place = `${name} ${Math.floor(status / 100)}xx`
        answers[place] = (answers[place] ?? 0) + 1
        if (status !== 429) admitted++
      }
    }),
  )
  for (const { child } of fleet.processes) child.kill('SIGTERM')
  for (const { ended } of fleet.processes) t.equal((await ended).code, 0)
  const found = await today(fleet)
  const counted = Object.fromEntries(
    found.flatMap(({ name, answers }) =>
      Object.entries(answers).map(([which, count]) => [`${name} ${which}`, count]),
    ),
  )
  t.strictSame(counted, answers)
  t.equal(
    found.reduce((sum, each) => sum + each.admitted, 0),
    admitted,
  )
  t.equal(found.length, keys.length)
})

t.test('a gateway that is killed has lost five seconds of usage at most', async (t) => {
  const upstream = await startUpstream(t)
  const fleet = await startFleet(t, { upstream: upstream.url, more: plans })
  const headers = await fleet.key({ limits: { perMinute: 'unlimited', perDay: 'unlimited' } })
  const [url = ''] = fleet.urls
  const call = caller(url)
  const times: number[] = []
  const end = performance.now() + 8_000
  while (performance.now() < end) {
    await call('GET', '/v1/x', undefined, headers)
    times.push(performance.now())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const [process] = fleet.processes
  process?.child.kill('SIGKILL')
  await process?.ended
  const old = times.filter((time) => time < performance.now() - 5_000).length
  const [{ admitted } = { admitted: 0 }] = await today(fleet)
  t.ok(admitted >= old && admitted <= times.length, `${admitted}: of ${times.length}, ${old} older`)
})
