import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { tollgate, type TollgateOptions } from '../../../gateway/plugin.ts'
import { mine, serve } from '../../support/plugin.ts'

const config = { plans: { free: { perMinute: 60 } }, store: { file: ':memory:' } }

/** An app that guards all routes, with a key; the lines that it wrote on standard error. */
async function start(t: Test, declare: (app: FastifyInstance) => unknown) {
  const lines = t.capture(console, 'error')
  const app = Fastify()
  t.teardown(() => app.close())
  await declare(app)
  await app.ready()
  const statusOf = async (url: string, headers = {}): Promise<number> =>
    (await app.inject({ url, headers })).statusCode
  return { app, statusOf, lines: () => lines().flatMap(({ args }) => args as unknown[]) }
}

t.test(
  'guard: all guards each later route in its scope and below, unless it says otherwise',
  async (t) => {
    const { app, statusOf, lines } = await start(t, async (app) => {
      app.get('/before', { config: { tollgate: false } }, serve)
      await app.register(async (beside) => void beside.get('/beside', serve))
      await app.register(async (scope) => {
        await scope.register(tollgate, { config, guard: 'all' })
        scope.get('/mine', serve)
        scope.get('/dear', { config: { cost: 50, label: 'dear' } }, serve)
        scope.get('/asking', mine, serve)
        scope.get('/open', { config: { tollgate: false, cost: 5 } }, serve)
        await scope.register(async (below) => void below.get('/below', serve))
        const { key } = await scope.tollgate.keys.create({ name: 'Me', plan: 'free' })
        app.decorate('key', key)
      })
      app.get('/around', serve)
    })
    for (const url of ['/mine', '/dear', '/asking', '/below'])
      t.equal(await statusOf(url), 401, url)
    for (const url of ['/before', '/beside', '/open', '/around'])
      t.equal(await statusOf(url), 200, url)
    const { key } = app as unknown as { key: string }
    const headers = { authorization: `Bearer ${key}` }
    t.equal(await statusOf('/dear', headers), 200)
    t.match((await app.inject({ url: '/v1/quota', headers })).json(), { minute: { remaining: 10 } })
    t.equal((await app.inject({ method: 'HEAD', url: '/below', headers })).statusCode, 200)
    t.strictSame(lines(), [])
  },
)

t.test('guard: all says which routes it found declared already', async (t) => {
  const { statusOf, lines } = await start(t, (app) => {
    void app.register(tollgate, { config, guard: 'all' })
    app.get('/early', serve)
    app.get('/mine', mine, serve)
    app.get('/open', { config: { tollgate: false } }, serve)
    void app.register(async (scope) => void scope.get('/later', serve))
  })
  t.equal(await statusOf('/early'), 200)
  t.equal(await statusOf('/mine'), 401)
  t.equal(await statusOf('/later'), 401)
  const written = lines()
  t.match(written, [/^Tollgate’s guard: 'all' leaves GET \/early open, .* await register/])
  t.equal(written.length, 1)
  const wrong = { config, guard: true } as unknown as TollgateOptions
  const app = Fastify()
  await t.rejects(async () => app.register(tollgate, wrong), /"guard" must be "all", got true/)
})

t.test('a route that seems to ask for a guard, and doesn’t, can’t be declared', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(tollgate, { config })
  const declare = (config: object): unknown => app.get(`/${Math.random()}`, { config }, serve)
  const misspelled = [
    'tolgate',
    'tollgatte',
    'tollgaet',
    'tolllgate',
    'Tollgate',
    'tollGate',
    'pollgate',
  ]
  for (const name of misspelled) {
    t.throws(
      () => declare({ [name]: true }),
      new RegExp(`config.${name} guards nothing: did you mean`),
    )
    t.throws(
      () => declare({ [name]: true, tollgate: true }),
      /did you mean tollgate/,
      'beside it, too',
    )
    t.doesNotThrow(() => declare({ [name]: true, tollgate: false }))
  }
  for (const config of [{ cost: 5 }, { cost: 0 }, { label: 'x' }, { scopes: ['a'] }] as const) {
    const [name = ''] = Object.keys(config)
    t.throws(
      () => declare(config),
      new RegExp(`^.*GET /.*: config.${name} guards nothing: write tollgate: true`),
    )
    t.doesNotThrow(() => declare({ ...config, tollgate: false }))
    t.doesNotThrow(() => declare({ ...config, tollgate: true }))
  }
  for (const config of [
    {},
    { tollgate: undefined },
    { cost: undefined },
    { tailgate: 1, toll: 2 },
  ]) {
    t.doesNotThrow(() => declare(config))
  }
})

const plain = config

t.test(
  'one that was declared before is found at register, and one of another app never',
  async (t) => {
    for (const config of [{ tolgate: true }, { scopes: ['a'] }]) {
      const app = Fastify()
      app.get('/', { config }, serve)
      const others = Fastify()
      others.get('/', { config }, serve)
      t.equal((await others.inject('/')).statusCode, 200)
      await t.rejects(async () => app.register(tollgate, { config: plain }), /guards nothing/)
      t.teardown(() => others.close())
    }
  },
)
