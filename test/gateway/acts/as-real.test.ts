import { byLimit, byWindow } from '../../../shared/windows.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import got from 'got'
import ky from 'ky'
import t, { type Test } from 'tap'
import { actNames, type ActName } from '../../../gateway/front/acts/wish.ts'
import type { KeySettings } from '../../../gateway/front/keys/key.ts'
import { tollgate } from '../../../gateway/plugin.ts'
import { statusByCode } from '../../../shared/refusal.ts'
import { noon, startStage, wishOf, type Stage } from '../../support/acts.ts'
import { startGateway, startUpstream, type GatewayOptions } from '../../support/gateway.ts'
import { caller, json, type Answer } from '../../support/http.ts'
import { root } from '../../support/process.ts'
import { until } from '../../support/until.ts'

type Asks = (path?: string, more?: Record<string, string>) => Promise<Answer>

/** The real thing of each act: the gateway that it needs, the key, and how it is provoked. */
type Real = Readonly<{
  settings?: Partial<KeySettings>
  options?: (t: Test) => Promise<GatewayOptions>
  provoke: (ask: Asks, stage: Stage) => Promise<Answer>
}>

const twice = async (ask: Asks): Promise<Answer> => (await ask(), ask())
const reals: Readonly<Record<ActName, Real>> = {
  ...byWindow(({ limit }) => ({
    settings: { limits: { perMinute: 9, perDay: 9, [limit]: 1 } },
    provoke: twice,
  })),
  prepaid: {
    settings: { limits: { perMonth: { limit: 1, beyond: 'prepaid' } } },
    provoke: twice,
  },
  ban: {
    settings: { limits: { perMinute: 1 } },
    provoke: async (ask, { pass }) => (await twice(ask), pass(1), ask()),
  },
  too_many_failed_attempts: {
    provoke: async (_ask, { call }) => (await call('GET', '/v1/pets'), call('GET', '/v1/pets')),
  },
  at_once: {
    settings: { limits: { atOnce: 1 } },
    options: async (t) => ({ upstream: await startUpstream(t, () => undefined) }),
    provoke: async (ask, { upstream }) => {
      void ask().catch(() => undefined)
      await until(() => upstream.seen.length === 1)
      return ask()
    },
  },
  too_many_at_once: {
    options: async (t) => ({
      upstream: await startUpstream(t, () => undefined),
      upstreamMore: 'maxInFlight: 4',
    }),
    provoke: async (ask, { upstream }) => {
      for (let i = 0; i < 2; i++) void ask().catch(() => undefined)
      await until(() => upstream.seen.length === 2)
      return ask()
    },
  },
  expired: {
    settings: { expiresAtMs: noon + 5 },
    provoke: (ask, { pass }) => (pass(5), ask()),
  },
  forbidden: { settings: { methods: ['POST'] }, provoke: (ask) => ask() },
  sunset: { provoke: (ask) => ask('/v1/gone') },
  brownout: { provoke: (ask) => ask('/v1/brown') },
  deprecated: { provoke: (ask) => ask('/v1/old') },
  bad_gateway: {
    options: async () => ({ targets: '[ "http://127.0.0.1:1" ]' }),
    provoke: (ask) => ask(),
  },
  gateway_timeout: {
    options: async (t) => ({
      upstream: await startUpstream(t, () => undefined),
      upstreamMore: 'timeout: { response: 20ms }',
    }),
    provoke: (ask) => ask(),
  },
  unavailable: {
    options: async () => ({
      targets: '[ "http://127.0.0.1:1" ]',
      upstreamMore: 'health: { path: /up, every: 100ms, unhealthyAfter: 1 }',
    }),
    provoke: async (ask, { app }) => {
      await until(() => app.front.upstreams.all[0]?.targets[0]?.isHealthy === false)
      return ask()
    },
  },
  near_limit: { settings: { limits: { perDay: 1 } }, provoke: (ask) => ask() },
  slow: { provoke: (ask) => ask() },
}

/** Headers that only one of an act and the real thing has. */
const ofOne = new Set(['x-gateway-acted', 'via'])

/** An answer without all that two of one kind may differ in: numbers, times and paths. */
function formOf({ status, headers, text }: Answer) {
  const body = status < 400 ? { ...json(text), up: '', acted: '' } : json(text)
  const sentence = (typeof body['message'] === 'string' ? body['message'] : '')
    .replace(/until .*? UTC \(.*?\)/, 'until N')
    .replace(/\d[\d,]*/g, 'N')
    .replace(/\/\S+/g, '/')
  return {
    status,
    code: body['code'],
    sentence,
    body: Object.keys(body).sort(),
    headers: Object.keys(headers)
      .filter((name) => !ofOne.has(name))
      .sort(),
    type: headers['content-type']?.toString().split(';')[0],
    fixed: ['cache-control', 'www-authenticate', 'connection'].map((name) => headers[name]),
  }
}

/** The code that each act is refused with. */
const codeByAct = new Map<ActName, string>()

for (const name of actNames) {
  t.test(`acts ${name} as it is`, async (t) => {
    const { settings, options, provoke } = reals[name]
    const stage = await startStage(t, await options?.(t))
    const asksAs = async (wanted: Partial<KeySettings>): Promise<Asks> => {
      const { headers } = await stage.key(wanted)
      return (path = '/v1/pets', more = {}) =>
        stage.call('GET', path, undefined, { ...headers, ...more })
    }
    // First the act, which leaves nothing behind, then the real thing.
    const wish = wishOf(name)
    const asActor = await asksAs({ ...settings, methods: undefined, test: true })
    const acted = await asActor('/v1/pets', { 'x-gateway-act': wish })
    t.equal(acted.headers['x-gateway-acted'], wish)
    t.strictSame(stage.upstream.seen, [], 'no backend hears of it')
    const real = await provoke(await asksAs(settings ?? {}), stage)
    t.equal(real.headers['x-gateway-acted'], undefined)
    t.strictSame(formOf(acted), formOf(real))
    if (name === 'minute' || name === 'day') t.equal(acted.text, real.text, 'to the second')
    if (acted.status < 400) t.strictSame(json(acted), { acted: wish })
    else codeByAct.set(name, String(json(acted)['code']))
    stage.server.closeAllConnections()
  })
}

t.test('the README says of every code how to get it', (t) => {
  const text = readFileSync(join(root, 'gateway/front/portal/README.md'), 'utf8')
  const rows = [...text.matchAll(/^\| (`\w+`(?:, `\w+`)*) +\| (.+?) +\|$/gm)]
  const told = rows.flatMap(([, names = '', how = '']) =>
    [...names.matchAll(/\w+/g)].map(([code]) => [code, how] as const),
  )
  t.strictSame(told.map(([code]) => code).sort(), Object.keys(statusByCode).sort())
  const acts = told.flatMap(([code, how]) =>
    [...how.matchAll(/`X-Gateway-Act: (\w+)`/g)].map(([, act]) => [act, code]),
  )
  t.strictSame(Object.fromEntries(acts), Object.fromEntries(codeByAct))
  t.end()
})

t.test('on an app’s own guarded routes all is acted, before their handlers', async (t) => {
  const { config, stores, key } = await startStage(t)
  const { headers } = await key({
    limits: { ...byLimit(() => 100), perMonth: { limit: 100, beyond: 'prepaid' }, atOnce: 9 },
    test: true,
  })
  const handled: string[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(tollgate, { loaded: config, stores })
  app.get('/mine', { config: { tollgate: true } }, ({ headers }) => {
    handled.push(String(headers['x-gateway-act']))
    return { mine: true }
  })
  for (const name of actNames.filter((name) => name !== 'too_many_failed_attempts')) {
    const wish = wishOf(name)
    const more = { ...headers, 'x-gateway-act': wish }
    const answer = await app.inject({ url: '/mine', headers: more })
    t.equal(answer.headers['x-gateway-acted'], wish)
    const code = codeByAct.get(name)
    t.match(answer.json(), code === undefined ? { acted: wish } : { code }, name)
  }
  t.strictSame(handled, [])
  t.equal((await app.inject({ url: '/mine', headers })).body, '{"mine":true}')
  t.strictSame(handled, ['undefined'])
})

t.test('clients that honour Retry-After meet an acted 429 as a real one', async (t) => {
  // The minute of the gateway's clock ends soon, so that no wait is longer. The clock stands until all is ready.
  let started = Infinity
  const clock = () => noon + 58_500 + Math.max(0, Date.now() - started)
  const { url, key } = await startGateway(t, { clock })
  const keys = await Promise.all(
    [1, 2, 3, 4].map(() => key({ limits: { perMinute: 1 }, test: true })),
  )
  started = Date.now()
  const ways = ['acted', 'real'] as const
  const tries = await Promise.all(
    ways.flatMap((way) =>
      (['got', 'ky'] as const).map(async (client) => {
        const headers = keys.pop()?.headers
        if (way === 'real') await caller(url)('GET', '/v1/pets', undefined, headers)
        const wish = way === 'acted' ? { 'x-gateway-act': 'minute' } : {}
        let retries = 0
        const sent = { ...headers, ...wish }
        if (client === 'got') {
          const answer = await got(`${url}/v1/pets`, {
            headers: sent,
            hooks: {
              beforeRetry: [
                ({ options }) => {
                  retries++
                  delete options.headers['x-gateway-act']
                },
              ],
            },
          })
          return [answer.statusCode, retries]
        }
        const answer = await ky(`${url}/v1/pets`, {
          headers: sent,
          hooks: {
            beforeRetry: [
              ({ request }) => {
                retries++
                request.headers.delete('x-gateway-act')
              },
            ],
          },
        })
        return [answer.status, retries]
      }),
    ),
  )
  t.strictSame(
    tries,
    ways.flatMap(() => [
      [200, 1],
      [200, 1],
    ]),
  )
})
