import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { beforeStages, way, type StageName } from '../../gateway/front/way.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import type { Answer } from '../support/http.ts'
import { root } from '../support/process.ts'

t.test('tree, list and README tell one way', (t) => {
  const files = readdirSync(join(root, 'gateway', 'front', 'stages')).sort()
  t.strictSame(
    files,
    way.map((name, i) => `${i + 1}-${name}.ts`),
  )
  const text = readFileSync(join(root, 'gateway', 'README.md'), 'utf8')
  const rows = [...text.matchAll(/^\| (\d) `(\w+)`/gm)].map(([, number, name]) => [number, name])
  t.strictSame(
    rows,
    way.map((name, i) => [String(i + 1), name]),
  )
  const before = [...text.matchAll(/^\| `((?:shared|front)\/\S+)` +\| (.+?) +\|$/gm)]
  t.strictSame(
    before
      .slice(0, beforeStages.length)
      .map(([, file = '', does]) => [file.replace(/^front/, 'gateway/front'), does]),
    beforeStages,
  )
  for (const [file] of beforeStages) t.ok(existsSync(join(root, file)), file)
  t.end()
})

t.test('each stage that ends a request has set the limits that are told', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => void response.destroy())
  let now = Date.UTC(2026, 5, 15, 12)
  const gateway = await startGateway(t, {
    upstream,
    clock: () => now,
    more: `
cors: { origins: [ "https://app.example" ] }
bans: { strikes: 1, grace: 0s }
deprecations:
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, afterSunset: gone }
  - operation: GET /v1/brown
    since: 2026-01-01
    sunset: 2027-01-01
    brownouts: [ { from: 2026-06-15T11:00:00Z, to: 2026-06-15T13:00:00Z } ]
`,
    routes: `
  - { path: /v1/dear, upstream: animals, cost: 61 }
  - { path: /v1/small, upstream: animals, bodyLimit: 1B, methods: [ POST ] }
  - { path: /v1/*, upstream: animals }
`,
  })
  const { headers: free } = await gateway.key()
  const { headers: one } = await gateway.key({ limits: { perMinute: 1 } })
  const { headers: get } = await gateway.key({ methods: ['GET'] })
  const { headers: unplanned } = await gateway.key({ plan: 'pro' })
  const plans = new Map([...gateway.config.plans].filter(([name]) => name !== 'pro'))
  await gateway.app.change({ ...gateway.config, plans })
  const page = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
  const { call } = gateway
  const ask = (path: string, headers: Record<string, string>) =>
    call('GET', path, undefined, headers)

  const ends: readonly [StageName, number, () => Promise<Answer>][] = [
    ['screen', 400, () => ask('/v1//pets', free)],
    ['preflight', 204, () => call('OPTIONS', '/v1/pets', undefined, page)],
    ['authenticate', 401, () => ask('/v1/pets', {})],
    ['authenticate', 401, () => ask('/v1/pets', { authorization: 'Bearer x' })],
    ['authenticate', 403, () => ask('/v1/pets', unplanned)],
    ['admit', 403, () => call('DELETE', '/v1/pets', undefined, get)],
    ['admit', 403, () => ask('/v1/dear', free)],
    ['retire', 410, () => ask('/v1/gone', free)],
    ['retire', 503, () => ask('/v1/brown', free)],
    ['forward', 502, () => ask('/v1/pets', one)],
    ['admit', 429, () => ask('/v1/pets', one)],
    ['admit', 429, () => (now++, ask('/v1/pets', one))],
    ['forward', 405, () => call('PUT', '/v1/small', undefined, free)],
    ['forward', 413, () => call('POST', '/v1/small', 'too long', free)],
    ['forward', 404, () => ask('/elsewhere', free)],
  ]
  for (const [stage, status, provoke] of ends) {
    const { status: found, headers, text } = await provoke()
    t.match(
      { status: found, ...headers },
      {
        status,
        'x-ratelimit-limit': /^\d+$/,
        'x-ratelimit-remaining': /^\d+$/,
        'x-ratelimit-reset': /^\d+$/,
      },
      `${stage}: ${status} ${text}`,
    )
  }
  const ended = new Set(ends.map(([stage]) => stage))
  // Only test keys meet `act`: acts/as-real.test.ts.
  const never: readonly StageName[] = ['follow', 'act', 'announce']
  t.strictSame(
    way.filter((name) => !ended.has(name)),
    never,
  )
})
