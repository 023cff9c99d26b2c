import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { startServed } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../support/jwt.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const minuteMs = 60_000
const [first, second] = [signingKey('ES256', 'first'), signingKey('RS256', 'second')]
const server = await startKeyServer(t, [first])
const upstream = await startUpstream(t)
const redis = await startRedis(t)
const fleet = await startServed(t, {
  upstream: upstream.url,
  store: `redis: "${redis.url}"`,
  more: `plans: { free: { perMinute: 60, perDay: 1000, bans: off }, much: { perMinute: unlimited, perDay: unlimited } }
${jwtSection(server.url, 'plan: { claim: plan, is: { much: much }, else: free }')}`,
  environments: [{}, {}, {}, {}],
})
const calls = fleet.urls.map(caller)

t.test('20 tokens of one subject share its limit over four gateways, to the point', async (t) => {
  for (let attempt = 0; attempt < 5; attempt++) {
    const minute = Math.floor(Date.now() / minuteMs)
    const claims = (jti: number) => ({ sub: `alice-${attempt}`, jti })
    const tokens = Array.from({ length: 20 }, (_, jti) => tokenOf(first, { claims: claims(jti) }))
    const statuses = await Promise.all(
      calls.flatMap((call) =>
        tokens.flatMap((token) =>
          [1, 2].map(async () => (await call('GET', '/v1/x', undefined, bearer(token))).status),
        ),
      ),
    )
    // What began in one minute may end in the next.
    if (Math.floor(Date.now() / minuteMs) !== minute) continue
    t.equal(statuses.filter((status) => status === 200).length, 60)
    return t.equal(statuses.filter((status) => status === 429).length, 100)
  }
  t.fail('no attempt began and ended in one minute')
})

t.test('a key set changes under load, and no request is lost', async (t) => {
  let keys = [first]
  let [asked, isOver] = [0, false]
  const wrong: number[] = []
  const one = async (): Promise<void> => {
    while (!isOver) {
      const key = keys[asked % keys.length] ?? first
      const claims = { sub: `caller-${asked % 7}`, plan: 'much', jti: asked % 50 }
      const call = calls[asked++ % calls.length]
      const answer = await call?.('GET', '/v1/x', undefined, bearer(tokenOf(key, { claims })))
      if (answer?.status !== 200) wrong.push(answer?.status ?? 0)
    }
  }
  const load = Array.from({ length: 16 }, one)
  const after = async (more: number): Promise<void> => {
    for (const end = asked + more; asked < end && wrong.length === 0;) {
      await new Promise((go) => setImmediate(go))
    }
  }
  await after(300)
  server.set.keys = [first.jwk, second.jwk]
  keys = [first, second]
  await after(300)
  server.set.keys = [second.jwk]
  keys = [second]
  await after(300)
  isOver = true
  await Promise.all(load)
  t.strictSame(wrong, [])
  t.equal(server.asked(), 8, 'each gateway has fetched it at its start, and for the new key')
})

t.test(
  'a saved file takes an audience away from all gateways, and fetches no keys again',
  async (t) => {
    const kept = tokenOf(second, {
      claims: { aud: ['https://api.example', 'other'], plan: 'much' },
    })
    const taken = tokenOf(second, { claims: { plan: 'much' } })
    const statuses = (token: string) =>
      Promise.all(
        calls.map(async (call) => (await call('GET', '/v1/x', undefined, bearer(token))).status),
      )
    t.strictSame(await statuses(taken), [200, 200, 200, 200])
    const text = readFileSync(fleet.file, 'utf8')
    writeFileSync(fleet.file, text.replace('audience: "https://api.example"', 'audience: other'))
    // Where one of them is late, the others have had enough bad tokens of this address by then.
    await until(async () =>
      (await statuses(taken)).every((status) => status === 401 || status === 429),
    )
    t.strictSame(await statuses(kept), [200, 200, 200, 200])
    t.equal(server.asked(), 8)
  },
)

t.test('no token is in a file, in Redis or in a log', async (t) => {
  const signature = tokenOf(first).split('.')[0] ?? ''
  const names = await redis.client.keys('*')
  t.ok(names.length > 3)
  for (const name of names) {
    const type = await redis.client.type(name)
    const dump = type === 'none' ? '' : String(await redis.client.dumpBuffer(name))
    t.notOk(dump.includes(signature), name)
  }
  const folder = dirname(fleet.file)
  for (const file of readdirSync(folder)) {
    t.notOk(readFileSync(join(folder, file), 'latin1').includes(signature), file)
  }
  for (const { output } of fleet.processes) t.notOk(output().includes(signature))
})
