import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import Fastify, {
  type FastifyContextConfig,
  type FastifyInstance,
  type onRouteHookHandler,
} from 'fastify'
import t from 'tap'
import { configOf } from '../../../gateway/office/config/load.ts'
import { tollgate, type TollgateOptions } from '../../../gateway/plugin.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { json } from '../../support/http.ts'
import { mine, serve, startApp } from '../../support/plugin.ts'
import { bareEnvironment, root } from '../../support/process.ts'
import { folderOf } from '../../support/folder.ts'

t.test('the plugin in an app of somebody else', async (t) => {
  const { app, key } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
    app.get('/open', (request) => ({ tollgate: request.tollgate }))
    app.get('/mine', mine, ({ tollgate }) => ({
      ...tollgate?.terms?.limits,
      caller: tollgate?.caller,
    }))
  })
  const { headers, key: own } = await key({ account: 'acme' })
  t.equal((await app.inject('/open')).body, '{"tollgate":null}', 'leaves its routes alone')
  t.equal((await app.inject('/mine')).statusCode, 401, 'but for those that ask for it')
  const answer = await app.inject({ url: '/mine', headers })
  t.match(json(answer.body), {
    caller: { id: own.id, name: 'Test', plan: 'free', account: 'acme', quota: 'account:acme' },
    perMinute: 60,
    perDay: 1000,
  })
  t.equal((await app.inject('/nothing')).json().error, 'Not Found', 'and its 404s')
  t.equal((await app.inject({ url: '/v1/pets', headers })).statusCode, 200, 'and forwards its own')
})

t.test('a handler reads the standing that the headers tell, and nothing beside it', async (t) => {
  const { app, key } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
    app.get('/mine', mine, ({ tollgate }) => tollgate?.standing ?? 'unlimited')
  })
  const { headers } = await key()
  const answer = await app.inject({ url: '/mine', headers })
  const of = (name: string): number => Number(answer.headers[`x-ratelimit-${name}`])
  t.strictSame(answer.json(), { limit: 60, remaining: 59, reset: of('reset') })
  t.equal(of('remaining'), 59)
  const free = await key({ limits: { perMinute: 'unlimited', perDay: 'unlimited' } })
  t.equal((await app.inject({ url: '/mine', headers: free.headers })).body, 'unlimited')
})

t.test('the plugin alone guards the routes of an app, and counts them', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const config = {
    store: { file },
    plans: { free: { perMinute: 2, perDay: 10 } },
    routes: [],
  }
  const stores = await openStores(configOf(config).store)
  const app = Fastify()
  await app.register(tollgate, { config, stores })
  app.get('/open', () => 'open')
  app.get('/mine', { config: { tollgate: true } }, ({ tollgate }) => ({
    you: tollgate?.caller?.name,
  }))
  app.get('/dear', { config: { tollgate: true, cost: 2 } }, () => 'dear')
  t.teardown(async () => {
    await app.close()
    await stores.close()
  })
  const { key: token } = await app.tollgate.keys.create({ name: 'Me', plan: 'free' })
  const headers = { authorization: `Bearer ${token}` }
  const ask = async (url: string, with_ = headers as Record<string, string>) => {
    const { statusCode, headers, body } = await app.inject({ url, headers: with_ })
    return { status: statusCode, left: headers['x-ratelimit-remaining'], body }
  }
  t.match(await ask('/open', {}), { status: 200, left: undefined, body: 'open' })
  t.match(await ask('/mine', {}), { status: 401 })
  t.match(await ask('/mine'), { status: 200, left: '1', body: '{"you":"Me"}' })
  t.match(await ask('/dear'), { status: 429, left: '1' })
  t.match(await ask('/mine'), { status: 200, left: '0' })
  t.match(await ask('/mine'), { status: 429 })
  t.match(json((await ask('/v1/quota')).body), { plan: 'free', minute: { remaining: 0 } })
  t.throws(
    () => configOf({ plans: { free: { perMinute: 0, perDay: 1 } }, routes: [] }),
    /^plans\.free\.perMinute must be a whole number above 0 or "unlimited", got 0$/,
  )
})

t.test(
  'to guard a route by the minute, an app needs a plan of a minute, and no routes',
  async (t) => {
    const file = join(
      folderOf(t, { 'app.yaml': 'plans: { free: { perMinute: 2 } }\n' }),
      'app.yaml',
    )
    for (const config of [{ plans: { free: { perMinute: 2 } } }, file]) {
      const app = Fastify()
      t.teardown(() => app.close())
      const stores = await openStores({
        ...configOf({ plans: { free: { perDay: 1 } } }).store,
        file: ':memory:',
      })
      t.teardown(() => stores.close())
      await app.register(tollgate, { config, stores })
      app.get('/mine', mine, serve)
      const { key } = await app.tollgate.keys.create({ name: 'Me', plan: 'free' })
      const headers = { authorization: `Bearer ${key}` }
      const statuses: number[] = []
      for (let i = 0; i < 3; i++)
        statuses.push((await app.inject({ url: '/mine', headers })).statusCode)
      t.strictSame(statuses, [200, 200, 429])
      t.match((await app.inject({ url: '/v1/quota', headers })).json(), {
        minute: { limit: 2 },
        day: null,
      })
    }
  },
)

t.test('a route that asks to be guarded is, however Tollgate is registered', async (t) => {
  const sibling = async (scope: FastifyInstance): Promise<void> => {
    scope.get('/mine', mine, serve)
    scope.post('/mine', mine, serve)
  }
  const ways: Record<string, (app: FastifyInstance, options: TollgateOptions) => unknown> = {
    'awaited, before the route': async (app, options) => {
      await app.register(tollgate, options)
      await sibling(app)
    },
    'not awaited': (app, options) => {
      void app.register(tollgate, options)
      void sibling(app)
    },
    'after the route': async (app, options) => {
      await sibling(app)
      await app.register(tollgate, options)
    },
    'after a plugin with the route': async (app, options) => {
      await app.register(sibling)
      await app.register(tollgate, options)
    },
    'after plugins in plugins, and nothing awaited': (app, options) => {
      void app.register(async (scope) => void scope.register(sibling))
      void app.register(tollgate, options)
    },
    'before a plugin with the route': async (app, options) => {
      await app.register(tollgate, options)
      await app.register(sibling)
    },
    'in the scope of the route, after it': async (app, options) => {
      await app.register(async (scope) => {
        await sibling(scope)
        await scope.register(tollgate, options)
      })
    },
    'after a route at the root of a prefix': async (app, options) => {
      await app.register(
        async (scope) => {
          scope.get('/', mine, serve)
          scope.post('/', mine, serve)
        },
        { prefix: '/mine' },
      )
      await app.register(tollgate, options)
    },
  }
  for (const [way, declare] of Object.entries(ways)) {
    const { app, log, headers } = await startApp(t, async (app, options) => {
      app.get('/open', serve)
      await declare(app, options)
    })
    for (const method of ['GET', 'HEAD', 'POST'] as const) {
      const { statusCode } = await app.inject({ method, url: '/mine' })
      t.equal(statusCode, 401, `${way}: ${method} without a key`)
      const answer = await app.inject({ method, url: '/mine', headers })
      t.equal(answer.statusCode, 200, `${way}: ${method} with a key`)
      t.ok(answer.headers['x-ratelimit-limit'], way)
    }
    t.equal((await app.inject({ url: '/v1/quota', headers })).json().minute.remaining, 57)
    t.equal((await app.inject('/open')).statusCode, 200, `${way}: what asks for nothing is open`)
    t.equal((await app.inject('/v1/pets')).statusCode, 401, `${way}: what is forwarded is guarded`)
    t.equal((await app.inject({ url: '/v1/pets', headers })).statusCode, 200)
    t.strictSame(log, [])
  }
})

t.test('a route that asks to be guarded and can’t be is closed', async (t) => {
  const outside = async (scope: FastifyInstance): Promise<void> =>
    void scope.get('/mine', mine, serve)
  const ways: Record<string, (app: FastifyInstance, options: TollgateOptions) => unknown> = {
    'nowhere registered': outside,
    'registered beside it, before': async (app, options) => {
      await app.register(async (scope) => void (await scope.register(tollgate, options)))
      await app.register(outside)
    },
    'registered beside it, after': async (app, options) => {
      await app.register(outside)
      await app.register(async (scope) => void (await scope.register(tollgate, options)))
    },
    'registered within': async (app, options) => {
      await outside(app)
      await app.register(async (scope) => void (await scope.register(tollgate, options)))
    },
  }
  for (const [way, declare] of Object.entries(ways)) {
    const { app, log, headers } = await startApp(t, declare)
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await app.inject({ method, url: '/mine', headers })
      t.equal(answer.statusCode, 500, `${way}: ${method}`)
      t.notMatch(answer.body, 'OPEN')
    }
    t.match(
      log[0],
      /"level":50.*GET \/mine asks to be guarded.*register it in the same scope or around it/,
    )
  }
})

t.test(
  'a route that asks to be guarded after it was declared keeps the app from starting',
  async (t) => {
    const asks: onRouteHookHandler = (route) => {
      if (route.url === '/mine') route.config = { ...route.config, tollgate: true }
    }
    const later = { config: {} as FastifyContextConfig }
    const ways: Record<string, (app: FastifyInstance, options: TollgateOptions) => unknown> = {
      'by a hook of its scope': async (app, options) => {
        await app.register(tollgate, options)
        await app.register(async (scope) => {
          scope.addHook('onRoute', asks)
          scope.get('/mine', serve)
        })
      },
      'by its own options': async (app, options) => {
        await app.register(tollgate, options)
        app.get('/mine', later, serve)
        later.config.tollgate = true
      },
      'where Tollgate isn’t registered': (app) => {
        app.addHook('onRoute', asks)
        app.get('/mine', serve)
      },
    }
    for (const [way, declare] of Object.entries(ways)) {
      await t.rejects(
        startApp(t, declare),
        { message: /^(?:GET|HEAD) \/mine asks to be guarded .* after it was declared/ },
        way,
      )
    }
    const heard: typeof ways = {
      'a hook that was added before': async (app, options) => {
        app.addHook('onRoute', asks)
        await app.register(tollgate, options)
        app.get('/mine', serve)
      },
      'a hook that was added before Tollgate was ready': (app, options) => {
        void app.register(tollgate, options)
        app.addHook('onRoute', asks)
        void app.register(async (scope) => void scope.get('/mine', serve))
      },
    }
    for (const [way, declare] of Object.entries(heard)) {
      const { app } = await startApp(t, declare)
      t.equal((await app.inject('/mine')).statusCode, 401, way)
    }
  },
)

t.test('in CommonJS, and where it is imported after the app was made', async (t) => {
  const folder = folderOf(t, {
    'app.cjs': `
      const fastify = require('fastify')
      const plans = { free: { perMinute: 60, perDay: 1000 } }
      const guarded = { config: { tollgate: true } }
      const options = { config: { plans, store: { file: ':memory:' }, routes: [] } }
      async function statuses(early) {
        const app = fastify()
        app.register(async (scope) => void scope.get('/beside', guarded, () => 'OPEN'))
        app.after(() => {
          const { default: tollgate } = early ?? require(process.argv[2])
          app.register(tollgate, options).after(() => void app.get('/after', guarded, () => 'OPEN'))
          app.register(async (scope) => {
            scope.addHook('onRoute', (route) => void (route.onRequest = []))
            scope.get('/lost', guarded, () => 'OPEN')
          })
        })
        app.get('/mine', guarded, () => 'OPEN')
        app.get('/open', () => 'OPEN')
        const answers = ['/mine', '/beside', '/after', '/lost', '/open'].map((url) => app.inject(url))
        console.log(...(await Promise.all(answers)).map(({ statusCode }) => statusCode))
        await app.close()
      }
      statuses().then(() => statuses(require(process.argv[2])))
    `,
  })
  const args = [join(folder, 'app.cjs'), join(root, 'gateway/index.ts')]
  const output = execFileSync(process.execPath, args, {
    env: bareEnvironment,
    encoding: 'utf8',
    stdio: 'pipe',
  })
  t.equal(output, '500 500 401 500 200\n401 401 401 500 200\n', 'first late, then early')
})

t.test('an app’s log names the caller, its plan and the code of a refusal', async (t) => {
  const lines: Record<string, unknown>[] = []
  const stream = { write: (text: string) => void lines.push(json(text)) }
  const app = Fastify({ logger: { level: 'info', stream } })
  t.teardown(() => app.close())
  const config = { plans: { free: { perMinute: 2 } }, store: { file: ':memory:' } }
  await app.register(tollgate, { config })
  app.get('/mine', mine, (request) => {
    request.log.info('in the handler')
    throw new Error('thrown')
  })
  app.get('/open', serve)
  const { key, id } = await app.tollgate.keys.create({ name: 'Me', plan: 'free' })
  const headers = { authorization: `Bearer ${key}` }
  const linesOf = async (url: string, with_ = {}): Promise<unknown[]> => {
    lines.length = 0
    await app.inject({ url, headers: with_ })
    return lines.map(({ msg, key, plan, code }) => ({ msg, key, plan, code }))
  }
  const incoming = { msg: 'incoming request' }
  const about = { key: id, plan: 'free' }
  const done = 'request completed'
  const served = [...['in the handler', 'thrown', done].map((msg) => ({ ...about, msg }))]
  t.match(await linesOf('/mine', headers), [incoming, ...served])
  await linesOf('/mine', headers)
  const full = { ...about, msg: done, code: 'rate_limit_exceeded' }
  t.match(await linesOf('/mine', headers), [incoming, full])
  t.match(await linesOf('/mine'), [
    incoming,
    { msg: done, key: undefined, code: 'missing_api_key' },
  ])
  t.match(await linesOf('/open'), [incoming, { msg: done, key: undefined, code: undefined }])
  await app.tollgate.keys.disable('Me')
  t.match(await linesOf('/mine', headers), [incoming, { ...about, code: 'invalid_api_key' }])
})

t.test('the points of a handler that has failed come back to the day, and no others', async (t) => {
  const { app, key } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
    app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
      reply.code(error.statusCode ?? 500).send({ mine: error.message }),
    )
    app.get('/answer/:status', { config: { tollgate: true, cost: 2 } }, (request, reply) =>
      reply.code(Number((request.params as { status: string }).status)).send('ok'),
    )
    app.get('/throw/:status', { config: { tollgate: true, cost: 2 } }, ({ params }) => {
      const { status } = params as { status: string }
      throw Object.assign(new Error('thrown'), status !== 'none' && { statusCode: Number(status) })
    })
    const cost = { estimate: 2, from: 'answer' } as const
    app.get('/settled', { config: { tollgate: true, cost } }, ({ tollgate }, reply) => {
      tollgate?.settle(3)
      return reply.code(503).send('not now')
    })
  })
  const { headers } = await key()
  let sum = 0
  for (const [url, status, cost] of [
    ['/answer/200', 200, 2],
    ['/answer/404', 404, 2],
    ['/answer/500', 500, 2],
    ['/answer/501', 501, 2],
    ['/answer/502', 502, 0],
    ['/answer/503', 503, 0],
    ['/answer/504', 504, 0],
    ['/answer/505', 505, 2],
    ['/throw/none', 500, 0],
    ['/throw/507', 507, 0],
    // What a caller does wrong isn't for nothing because the app throws it.
    ['/throw/404', 404, 2],
    ['/settled', 503, 0],
  ] as const) {
    t.equal((await app.inject({ url, headers })).statusCode, status, url)
    sum += cost
    const { day, minute } = (await app.inject({ url: '/v1/quota', headers })).json()
    t.equal(day.remaining, 1_000 - sum, url)
    t.ok(minute.remaining <= 58, 'a minute gets none back')
  }
})

t.test('a handler tells what its request has cost', async (t) => {
  const cost = { estimate: 10, from: 'answer', atMost: 20 } as const
  const { app, key } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
    app.get('/ask/:points', { config: { tollgate: true, cost } }, ({ tollgate, params }) => {
      const { points } = params as { points: string }
      if (points !== 'nothing') tollgate?.settle(1)
      if (points !== 'nothing') tollgate?.settle(Number(points))
      return 'ok'
    })
    app.get('/mine', mine, ({ tollgate }) => tollgate?.settle(1))
  })
  const { headers } = await key()
  const left = async () => {
    const { text } = { text: (await app.inject({ url: '/v1/quota', headers })).body }
    return (json(text)['day'] as { remaining: number }).remaining
  }
  for (const [points, sum] of [
    ['3', 3],
    ['nothing', 13],
    ['0', 13],
    ['9999', 33],
  ] as const) {
    t.equal((await app.inject({ url: `/ask/${points}`, headers })).statusCode, 200)
    t.equal(await left(), 1_000 - sum, points)
  }
  t.equal((await app.inject({ url: '/ask/1.5', headers })).statusCode, 500)
  t.match(
    (await app.inject({ url: '/mine', headers })).body,
    /settle is for routes of an app's own/,
  )
})
