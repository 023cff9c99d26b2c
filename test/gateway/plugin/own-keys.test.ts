import Fastify from 'fastify'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ConfigFile } from '../../../gateway/office/config/file.ts'
import { tollgate, type TollgateOptions } from '../../../gateway/plugin.ts'
import { breathe } from '../../../shared/breathe.ts'
import { mine, serve } from '../../support/plugin.ts'
import { folderOf } from '../../support/folder.ts'

/** An app that finds keys in its own way, with a key. */
async function start(t: Test, options: Partial<TollgateOptions>, more: Partial<ConfigFile> = {}) {
  const log: string[] = []
  const logger = { level: 'error', stream: { write: (text: string) => void log.push(text) } }
  const app = Fastify({ logger })
  t.teardown(() => app.close())
  const store = { file: join(folderOf(t), 'gateway.db') }
  const plans = { free: { perMinute: 60, perDay: 1000 } }
  await app.register(tollgate, { config: { plans, store, routes: [], ...more }, ...options })
  app.get('/mine', mine, serve)
  const { key } = await app.tollgate.keys.create({ name: 'Me', plan: 'free' })
  return { app, log, key, ask: (url: string, headers = {}) => app.inject({ url, headers }) }
}

t.test('an app finds the key of a request in its own way', async (t) => {
  const { ask, key } = await start(t, {
    keyOf: ({ query }) => (query as { key?: string }).key,
  })
  t.match(await ask(`/mine?key=${key}`), { statusCode: 200, body: 'OPEN' })
  const header = { authorization: `Bearer ${key}` }
  t.match((await ask('/mine', header)).json(), { code: 'missing_api_key' }, 'and in no other')
  t.equal((await ask('/mine')).json().message, 'Send your API key.', 'and nobody is sent elsewhere')
  const malformed = { code: 'invalid_api_key', message: 'Write your API key alone.' }
  t.match((await ask('/mine?key=a%20b')).json(), malformed)
  t.match((await ask(`/mine?key=${'x'.repeat(513)}`)).json(), { code: 'invalid_api_key' })
  t.match((await ask(`/v1/quota?key=${key}`)).json(), { plan: 'free' })
})

t.test(
  'a refusal names the header that an own way reads, if the configuration has it',
  async (t) => {
    const keyOf: TollgateOptions['keyOf'] = ({ headers }) => headers['x-tenant-key']?.toString()
    const { ask } = await start(t, { keyOf }, { keys: { from: ['authorization', 'x-tenant-key'] } })
    t.match((await ask('/mine')).json(), {
      message: 'Send your API key: "X-Tenant-Key: <API_KEY>".',
    })
  },
)

t.test('a way that fails is 503 and a line in the log, and counts against nobody', async (t) => {
  const { ask, app, log } = await start(t, {
    keyOf: ({ query }) => {
      if ((query as { how?: string }).how === 'throw') throw new Error('no database')
      return { key: 'x' } as unknown as string
    },
  })
  const thrown = await ask('/mine?how=throw')
  t.match(thrown, { statusCode: 503, headers: { 'x-ratelimit-remaining': '60' } })
  t.match(thrown.json(), { code: 'service_unavailable' })
  t.match(log[0], /no database.*"keyOf\\" has thrown/)
  t.equal((await ask('/mine')).statusCode, 401, 'a stranger may have sent a parameter twice')
  t.equal(log.length, 1)
  const id = String(thrown.headers['x-request-id'])
  t.match(await app.tollgate.explain(id), { answers: [{ sentence: /The app’s own function/ }] })
})

t.test('a way that is async is 503, and its rejection ends no process', async (t) => {
  const unhandled: unknown[] = []
  const note = (error: unknown): unknown => unhandled.push(error)
  process.prependListener('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const { ask, log } = await start(t, {
    keyOf: (() => Promise.reject(new Error('no database'))) as unknown as () => string,
  })
  t.equal((await ask('/mine')).statusCode, 503)
  t.match(log[0], /it is async, and must give the key at once.*"keyOf\\" has thrown/)
  await breathe()
  t.strictSame(unhandled, [])
})

t.test('an app takes keys from the headers that its configuration names', async (t) => {
  const { ask, key } = await start(t, {}, { keys: { from: ['X-API-Key'] } })
  t.equal((await ask('/mine', { 'x-api-key': key })).statusCode, 200)
  t.equal((await ask('/mine', { authorization: `Bearer ${key}` })).statusCode, 401)
})

t.test('quota and usage that are off have no path in the app', async (t) => {
  const { app, ask, key } = await start(t, {}, { quota: 'off', usage: 'off' })
  const headers = { authorization: `Bearer ${key}` }
  t.equal((await ask('/mine', headers)).statusCode, 200)
  t.equal((await ask('/v1/quota', headers)).statusCode, 404)
  t.notOk(app.hasRoute({ method: 'GET', url: '/v1/quota' }))
  t.notOk(app.hasRoute({ method: 'GET', url: '/v1/usage' }))
})
