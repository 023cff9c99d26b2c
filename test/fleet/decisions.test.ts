import t from 'tap'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, type Answer } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'

t.test(
  'two gateways that forward and two that decide admit exactly 300 of a quota of 300',
  async (t) => {
    const upstream = await startUpstream(t)
    const redis = await startRedis(t)
    const forwards = { TO: 'animals', LOG_LEVEL: 'info' }
    const decides = { TO: 'none', LOG_LEVEL: 'info' }
    const fleet = await startFleet(t, {
      upstream: upstream.url,
      store: `redis: "${redis.url}"`,
      routes: '[ { path: /v1/*, upstream: "${TO}" } ]',
      more: `
plans: { free: { perMinute: unlimited, perDay: 300 } }
decide: { port: 0, for: caddy }
`,
      environments: [forwards, forwards, decides, decides],
    })
    const headers = await fleet.key()
    const urls = fleet.processes.map((each) => /proxy at (\S+)\/decide/.exec(each.output())?.[1])
    const asks = fleet.urls.map((url, i) => {
      if (i < 2) return () => caller(url)('POST', '/v1/x', 'a body', headers)
      const about = { 'x-forwarded-method': 'POST', 'x-forwarded-uri': '/v1/x' }
      const call = caller(urls[i] ?? '')
      return () => call('GET', '/decide', undefined, { ...headers, ...about })
    })
    const answers: Answer[][] = asks.map(() => [])
    await Promise.all(
      asks.flatMap((ask, i) =>
        Array.from({ length: 64 }, async () => {
          for (let n = 0; n < 3; n++) answers[i]?.push(await ask())
        }),
      ),
    )
    const admitted = answers.map((all) => all.filter(({ status }) => status === 200).length)
    t.comment(admitted)
    t.equal(
      admitted.reduce((sum, each) => sum + each),
      300,
    )
    t.ok(admitted.every((each) => each > 0))
    const refused = answers.flat().filter(({ status }) => status === 429)
    t.equal(refused.length, 4 * 64 * 3 - 300)
    t.equal(upstream.seen.length, (admitted[0] ?? 0) + (admitted[1] ?? 0))
    for (const { signal } of fleet.processes) signal('SIGTERM')
    for (const { ended } of fleet.processes) t.equal((await ended).code, 0)
  },
)
