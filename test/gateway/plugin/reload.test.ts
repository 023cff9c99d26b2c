import Fastify from 'fastify'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ConfigFile } from '../../../gateway/office/config/file.ts'
import { tollgate } from '../../../gateway/plugin.ts'
import { startUpstream } from '../../support/gateway.ts'
import {
  audience,
  bearer,
  issuerName,
  signingKey,
  startKeyServer,
  tokenOf,
} from '../../support/jwt.ts'
import { mine, serve } from '../../support/plugin.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** An app that forwards to an upstream and guards a route of its own, with a function that gives its next configuration. */
async function start(t: Test, answer?: Answer) {
  const upstream = await startUpstream(t, answer)
  const written: ConfigFile = {
    plans: { free: { perMinute: 60, perDay: 1000 } },
    store: { file: join(folderOf(t), 'gateway.db') },
    upstreams: { animals: { targets: [upstream.url] } },
    routes: [{ path: '/v1/*', upstream: 'animals' }],
    notices: [],
  }
  const log: string[] = []
  const logger = { level: 'info', stream: { write: (text: string) => void log.push(text) } }
  const app = Fastify({ logger })
  t.teardown(() => app.close())
  await app.register(tollgate, { config: written })
  app.get('/mine', mine, serve)
  const { key } = await app.tollgate.keys.create({ name: 'Me', plan: 'free' })
  const headers = { authorization: `Bearer ${key}` }
  return {
    ...{ app, upstream, log, written, operations: app.tollgate },
    ask: (url: string, more: object = {}) =>
      app.inject({
        url,
        ...more,
        headers: { ...headers, ...(more as { headers?: object }).headers },
      }),
    other: (changes: Partial<ConfigFile>): ConfigFile => ({ ...written, ...changes }),
  }
}

t.test('another configuration is in force with the next request', async (t) => {
  const { ask, app, operations, other, log } = await start(t)
  const limit = async (url: string) => (await ask(url)).headers['x-ratelimit-limit']
  t.strictSame([await limit('/v1/pets'), await limit('/mine')], ['60', '60'])

  const plans = { free: { perMinute: 7, perDay: 1000 }, pro: { perMinute: 70, perDay: 100 } }
  const { hash, warnings } = await operations.reload(other({ plans }))
  t.match(hash, /^[0-9a-f]{12}$/)
  t.match(warnings, [])
  t.strictSame([await limit('/v1/pets'), await limit('/mine')], ['7', '7'], 'plans')
  t.match(await operations.keys.create({ name: 'New', plan: 'pro' }), { plan: 'pro' })

  await operations.reload(
    other({
      plans,
      strangers: { perMinute: 9, perDay: 99 },
      headers: { ietf: true },
      cors: { origins: ['https://app.example'] },
      bans: { strikes: 3 },
      deprecations: [{ operation: 'GET /v1/pets', since: '2020-01-01', sunset: '2099-01-01' }],
    }),
  )
  t.match((await app.inject('/mine')).headers, { 'x-ratelimit-limit': '9' }, 'strangers')
  const answer = await ask('/v1/pets', { headers: { origin: 'https://app.example' } })
  t.match(answer.headers, {
    ratelimit: /r=/,
    'access-control-allow-origin': 'https://app.example',
    sunset: /2099/,
  })
  t.match((await ask('/v1/quota')).json(), { strikesToBan: 3 }, 'own endpoints')
  t.match(await operations.metrics(), /^tollgate_config_reloads_total\{result="changed"\} 2$/m)
  t.match(log.join(''), /the configuration is changed/)
})

t.test('requests go to other targets, and those under way end at theirs', async (t) => {
  const held: ServerResponse[] = []
  const { app, ask, operations, other } = await start(t, (request, response) => {
    if (request.url === '/v1/slow') held.push(response)
    else response.end('old')
  })
  const next = await startUpstream(t, (_request, response) => void response.end('new'))
  t.equal((await ask('/v1/pets')).body, 'old')
  const slow = ask('/v1/slow')
  await until(() => held.length > 0)
  await operations.reload(other({ upstreams: { animals: { targets: [next.url] } } }))
  t.equal((await ask('/v1/pets')).body, 'new')
  held.forEach((response) => response.end('late'))
  t.match(await slow, { statusCode: 200, body: 'late' })
  await app.close()
})

t.test('an audience or algorithm that is taken away ends its tokens at once', async (t) => {
  const key = signingKey('ES256')
  const { url: keys } = await startKeyServer(t, [key])
  const { app, operations, other } = await start(t)
  const issuer = { issuer: issuerName, audience, keys, plan: 'free' }
  const headers = bearer(tokenOf(key))
  const steps = [
    [{}, 200],
    [{ audience: 'other' }, 401],
    [{}, 200],
    [{ algorithms: ['RS256'] as const }, 401],
  ] as const
  for (const [changes, status] of steps) {
    await operations.reload(other({ jwt: [{ ...issuer, ...changes }] }))
    t.equal((await app.inject({ url: '/mine', headers })).statusCode, status)
  }
  await operations.reload(other({ jwt: [issuer] }))
  await operations.reload(other({}))
  t.equal((await app.inject({ url: '/mine', headers })).statusCode, 401)
})

t.test('a path is read again, and warns of what makes no sense', async (t) => {
  const { ask, operations, written, log } = await start(t)
  const file = join(folderOf(t), 'gateway.yaml')
  const plans = { free: { perMinute: 5000, perDay: 1000 } }
  writeFileSync(file, JSON.stringify({ ...written, plans }))
  const { warnings } = await operations.reload(file)
  t.match(warnings, [/gateway\.yaml:1:\d+: warning: plans\.free\.perMinute/])
  t.match(log.join(''), /"level":40.*plans\.free\.perMinute/)
  t.equal((await ask('/mine')).headers['x-ratelimit-limit'], '1000')
})

t.test('mistakes are told with all their places, and nothing changes', async (t) => {
  const { ask, operations, other } = await start(t)
  const refused = (config: ConfigFile, message: RegExp | string) =>
    t.rejects(operations.reload(config), { message })
  await refused(
    other({ plans: { free: { perMinute: 0, perDay: 'all' as 'unlimited' } } }),
    /^plans\.free\.perMinute must be .*\nplans\.free\.perDay must be /,
  )
  const stays = 'can’t be changed while the app runs: restart it'
  await refused(
    other({ routes: [], quota: { path: '/q' }, store: { file: 'other.db' } }),
    `store ${stays}\nroutes ${stays}\nquota ${stays}`,
  )
  await refused(other({ usage: { path: '/u' } }), `usage ${stays}`)
  await refused(other({ keys: { cache: 5 } }), `keys ${stays}`)
  await t.rejects(operations.reload('/nowhere.yaml'), { message: /nowhere\.yaml/ })
  await t.rejects(operations.reload(5 as unknown as string), { message: /needs the path/ })
  t.equal((await ask('/mine')).headers['x-ratelimit-limit'], '60')
  const text = await operations.metrics()
  t.match(text, /^tollgate_config_refused 1$/m)
  t.match(text, /^tollgate_config_reloads_total\{result="refused"\} 6$/m)
  await operations.reload(other({}))
  t.match(await operations.metrics(), /^tollgate_config_refused 0$/m)
})

t.test('an issuer that is gone lets nobody in any more', async (t) => {
  const key = signingKey('ES256')
  const { url } = await startKeyServer(t, [key])
  const { app, operations, other } = await start(t)
  const headers = bearer(tokenOf(key, { claims: { sub: 'ada' } }))
  const statusOf = async () => (await app.inject({ url: '/mine', headers })).statusCode
  await operations.reload(
    other({ jwt: [{ issuer: issuerName, audience, keys: url, plan: 'free' }] }),
  )
  t.equal(await statusOf(), 200)
  await operations.reload(other({}))
  t.equal(await statusOf(), 401)
})
