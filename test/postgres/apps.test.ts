import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { tollgate } from '../../gateway/index.ts'
import { until } from '../support/until.ts'
import { startPostgres, timeoutMs } from './server.ts'
import { openPostgres } from './store/open.ts'

const { newDatabase, stop } = await startPostgres(t)

const config = { plans: { free: { perMinute: 600, perDay: 300 } }, routes: [] }

/** Starts an app whose stores are in a database. */
async function startApp(url: string, more: object = {}): Promise<FastifyInstance> {
  const stores = openPostgres(url, { timeoutMs })
  const app = Fastify()
  // Added before Tollgate, so that it runs after Tollgate has closed.
  app.addHook('onClose', () => stores.close())
  await app.register(tollgate, { config: { ...config, ...more }, stores })
  app.get('/mine', { config: { tollgate: true } }, () => 'OPEN')
  await app.ready()
  t.teardown(() => app.close())
  return app
}

t.test('four apps on one PostgreSQL admit exactly as many as fit', async (t) => {
  const url = await newDatabase()
  const apps = await Promise.all([1, 2, 3, 4].map(() => startApp(url)))
  const [first] = apps
  if (!first) throw new Error('four were started')
  const { key } = await first.tollgate.keys.create({ name: 'Me', plan: 'free' })
  const headers = { authorization: `Bearer ${key}` }
  const asked = Array.from({ length: 600 }, async (_, i) => {
    const answer = await apps[i % 4]?.inject({ url: '/mine', headers })
    return answer?.statusCode
  })
  const statuses = await Promise.all(asked)
  t.equal(statuses.filter((status) => status === 200).length, 300)
  t.equal(statuses.filter((status) => status === 429).length, 300)
})

t.test('what one app changes, the others go by', async (t) => {
  const url = await newDatabase()
  const one = await startApp(url)
  const other = await startApp(url)
  const made = await one.tollgate.keys.create({ name: 'Me', plan: 'free' })
  const headers = { authorization: `Bearer ${made.key}` }
  const ask = async () => (await other.inject({ url: '/mine', headers })).statusCode
  t.equal(await ask(), 200)
  await one.tollgate.bans.set(made.id, { for: '1h' })
  await until(async () => (await ask()) === 429)
  t.match(await other.tollgate.bans.list(), [{ id: made.id }])
  await one.tollgate.bans.lift(made.id)
  await until(async () => (await ask()) === 200)
  await one.tollgate.quotas.grant(made.id, { perDay: 5 })
  t.match(await other.tollgate.quotas.show(made.id), { grants: [{ perDay: 5 }] })
  await one.tollgate.keys.revoke(made.id)
  await until(async () => (await ask()) === 401)
})

t.test('a PostgreSQL that ends is an outage', async (t) => {
  const app = await startApp(await newDatabase(), { store: { whenUnreachable: 'deny' } })
  const { key } = await app.tollgate.keys.create({ name: 'Me', plan: 'free' })
  const ask = () => app.inject({ url: '/mine', headers: { authorization: `Bearer ${key}` } })
  t.equal((await ask()).statusCode, 200)
  await stop()
  t.equal((await ask()).statusCode, 503)
  await t.rejects(app.tollgate.keys.list(), { code: 'service_unavailable' })
})
