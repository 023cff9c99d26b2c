import Fastify from 'fastify'
import t from 'tap'
import tollgate, { ConfigError, TollgateError } from '../../../gateway/index.ts'
import { logged } from '../../support/logs.ts'
import { startRedis } from '../../support/redis.ts'

const config = {
  plans: { free: { perMinute: 60 } },
  store: { file: ':memory:' },
} as const

t.test('wrong arguments are sentences with a status, whatever they are', async (t) => {
  const app = Fastify()
  await app.register(tollgate, { config })
  const { keys } = app.tollgate
  const explain = (id: never) => app.tollgate.explain(id)
  const reload = (source: never) => app.tollgate.reload(source)
  const wrong = [undefined, null, {}, [], 1, true, 10n] as never[]
  for (const value of wrong) {
    const error = await explain(value).catch((thrown: unknown) => thrown)
    t.type(error, TollgateError)
    t.match(error, { statusCode: 400, message: /name a key by its id/ })
  }
  for (const value of [undefined, null, 1, true] as never[])
    await t.rejects(reload(value), {
      name: 'TollgateError',
      message: /needs the path of a configuration file/,
    })
  const limits = { perMinute: 10n } as never
  const created = keys.create({ name: 'x', plan: 'free', limits })
  await t.rejects(created, { name: 'TollgateError', message: /can’t be read: .*BigInt/ })
  const broken = { plans: { free: { perMinute: 'x' } } } as never
  const refused = await reload(broken).catch((thrown: unknown) => thrown)
  t.type(refused, ConfigError)
  t.match(refused, { name: 'ConfigError', statusCode: 400 })
  app.post('/reload', ({ body }) => reload(body as never))
  t.equal((await app.inject({ method: 'POST', url: '/reload', payload: broken })).statusCode, 400)
  await app.close()
  await t.rejects(explain('x' as never), { code: 'service_unavailable', name: 'TollgateError' })
})

t.test('register says that a clock moves nothing in Redis', async (t) => {
  const { url } = await startRedis(t)
  for (const [clock, lines] of [
    [() => Date.now(), 1],
    [undefined, 0],
  ] as const) {
    const { log, output } = logged()
    const app = Fastify({ logger: { level: 'warn', stream: log.target } })
    t.teardown(() => app.close())
    const store = { redis: url, prefix: `clock${lines}:` }
    const ofRedis = { plans: { free: { perMinute: 60 } }, store }
    await app.register(tollgate, { config: ofRedis, ...(clock && { clock }) })
    t.equal(output().split('doesn’t move windows').length - 1, lines)
  }
})
