import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  RouteOptions,
} from 'fastify'
import t from 'tap'
import { tollgate, type TollgateOptions } from '../../../gateway/plugin.ts'
import { appStarter, mine, serve, startApp } from '../../support/plugin.ts'

/** A change that an app's own onRoute hook makes to each route that it hears of. */
type Change = (route: RouteOptions) => void

/** A hook of an app that lets every request go on. */
function letGoOn(_request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction) {
  done()
}

const hooksOf = (route: RouteOptions) => [route.onRequest ?? []].flat()

/** Hands all routes the onRequest hooks of the first that the change hears of. */
function sharing(): Change {
  let first: RouteOptions['onRequest']
  return (route) => void (route.onRequest = first ??= route.onRequest ?? [])
}

const changes: Readonly<Record<string, () => Change>> = {
  'assigns onRequest': () => (route) => void (route.onRequest = letGoOn),
  'empties onRequest': () => (route) => void (route.onRequest = []),
  'deletes onRequest': () => (route) => void delete route.onRequest,
  'empties onRequest and config': () => (route) => {
    route.onRequest = []
    route.config = {}
  },
  'turns onRequest round': () => (route) => void (route.onRequest = hooksOf(route).reverse()),
  'takes the first of onRequest': () => (route) => void (route.onRequest = hooksOf(route).slice(1)),
  'takes the last of onRequest': () => (route) =>
    void (route.onRequest = hooksOf(route).slice(0, -1)),
  'leaves the first of onRequest': () => (route) =>
    void (route.onRequest = hooksOf(route).slice(0, 1)),
  ...Object.fromEntries(
    ['follow', 'screen', 'authenticate', 'admit'].map((stage) => [
      `takes ${stage} out`,
      () => (route: RouteOptions) =>
        void (route.onRequest = hooksOf(route).filter(({ name }) => name !== stage)),
    ]),
  ),
  'gives all routes the same onRequest': sharing,
  'puts its own hook first': () => (route) => void (route.onRequest = [letGoOn, ...hooksOf(route)]),
  'wraps each of onRequest': () => (route) =>
    void (route.onRequest = hooksOf(route).map(
      (hook) =>
        function (this: FastifyInstance, ...about: Parameters<typeof hook>) {
          return hook.apply(this, about)
        },
    )),
  'assigns preValidation': () => (route) => void (route.preValidation = letGoOn),
  'assigns preHandler': () => (route) => void (route.preHandler = letGoOn),
  'assigns preParsing': () => (route) =>
    void (route.preParsing = (_request, _reply, _payload, done) => done()),
  'assigns handler': () => (route) => void (route.handler = serve),
  'assigns onSend': () => (route) =>
    void (route.onSend = (_request, _reply, payload, done) => done(null, payload)),
  'replaces config': () => (route) => void (route.config = {}),
  'freezes config': () => (route) => void Object.freeze((route.config ??= {})),
}

/** Changes after which a route is served as ever to those who have a key. */
const harmless = new Set([
  ...['puts its own hook first', 'wraps each of onRequest', 'freezes config'],
  ...['assigns preValidation', 'assigns preHandler', 'assigns preParsing', 'assigns handler'],
  'assigns onSend',
])

type Placing = (
  app: FastifyInstance,
  options: TollgateOptions,
  change: Change,
  declare: (scope: FastifyInstance) => void,
) => unknown

/** Where Tollgate, the hook and the routes can be to each other. */
const placings: Readonly<Record<string, Placing>> = {
  'a hook after Tollgate': async (app, options, change, declare) => {
    await app.register(tollgate, options)
    app.addHook('onRoute', change)
    declare(app)
  },
  'a hook before Tollgate': async (app, options, change, declare) => {
    app.addHook('onRoute', change)
    await app.register(tollgate, options)
    declare(app)
  },
  'a hook in a scope of its own, below a prefix': async (app, options, change, declare) => {
    await app.register(tollgate, options)
    await app.register(
      async (scope) => {
        scope.addHook('onRoute', change)
        declare(scope)
      },
      { prefix: '/scope' },
    )
  },
  'routes that were there before Tollgate': async (app, options, change, declare) => {
    app.addHook('onRoute', change)
    declare(app)
    await app.register(tollgate, options)
  },
  'Tollgate in a scope beside it': async (app, options, change, declare) => {
    await app.register(async (scope) => void (await scope.register(tollgate, options)))
    app.addHook('onRoute', change)
    declare(app)
  },
  'no Tollgate': (app, _options, change, declare) => {
    app.addHook('onRoute', change)
    declare(app)
  },
}

/** Two routes that share a frozen config, one of them with hooks of its own, and one that asks for nothing. */
function declare(scope: FastifyInstance): void {
  const shared = { config: Object.freeze({ ...mine.config }) }
  scope.get('/open', serve)
  scope.get('/mine', shared, serve)
  scope.post('/mine', { ...shared, preHandler: letGoOn }, serve)
}

for (const [placing, place] of Object.entries(placings)) {
  t.test(`${placing}: a guarded route is never open, whatever the hook does`, async (t) => {
    const start = await appStarter(t)
    for (const [name, make] of Object.entries(changes)) {
      const { app, log, headers } = await start((app, options) =>
        place(app, options, make(), declare),
      )
      const prefix = placing.includes('prefix') ? '/scope' : ''
      const isReached = !/beside|no Tollgate/.test(placing)
      for (const method of ['GET', 'HEAD', 'POST'] as const) {
        log.length = 0
        const ask = (more = {}) => app.inject({ method, url: `${prefix}/mine`, headers: more })
        const without = await ask()
        const isClosed = without.statusCode === 500
        t.ok(isClosed || without.statusCode === 401, `${name}: ${method} is closed or guarded`, {
          status: without.statusCode,
        })
        t.notMatch(without.body, 'OPEN', name)
        if (isClosed) t.match(log.join(''), /"level":50/, `${name}: ${method} is in the log`)
        if (isReached && harmless.has(name)) {
          t.equal((await ask(headers)).statusCode, 200, `${name}: ${method} with a key`)
        }
      }
      t.equal((await app.inject(`${prefix}/open`)).body, 'OPEN', `${name}: others are left alone`)
    }
  })
}

t.test('the log says why a route is closed whose onRequest was replaced', async (t) => {
  const { app, log, headers } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
    app.addHook('onRoute', (route) => void (route.onRequest = letGoOn))
    app.get('/mine', mine, serve)
    app.get('/news', { config: { tollgate: 'open' } }, serve)
  })
  for (const url of ['/mine', '/news']) {
    log.length = 0
    t.equal((await app.inject({ url, headers })).statusCode, 500, `${url}, with a key, too`)
    t.match(
      log,
      [
        /GET \/\S+ asks to be guarded .* let no onRoute hook replace the route’s onRequest or config/,
      ],
      url,
    )
  }
})

t.test('what an app does with requests and answers opens nothing', async (t) => {
  const { app, headers } = await startApp(t, async (app, options) => {
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers['x-swap']) request.headers = { ...headers }
      if (request.headers['x-early']) return reply.send('early')
      return undefined
    })
    app.setErrorHandler((_error, _request, reply) => reply.code(200).send('handled'))
    app.setNotFoundHandler(mine as object, serve)
    await app.register(tollgate, options)
    app.get('/mine', mine, serve)
  })
  const ask = (url: string, more = {}) => app.inject({ url, headers: more })
  t.equal((await ask('/mine')).statusCode, 401)
  t.equal((await ask('/mine', { 'x-swap': '1' })).statusCode, 401, 'headers that were swapped')
  t.equal((await ask('/mine', { 'x-early': '1' })).body, 'early', 'a hook that answers by itself')
  t.equal((await ask('/mine', headers)).body, 'OPEN')
  t.equal((await ask('/nothing')).statusCode, 500, 'a handler of 404s that asks can’t be reached')
})

t.test('a route that copies the config of a guarded one is no more open', async (t) => {
  const { app } = await startApp(t, async (app, options) => {
    let guarded: RouteOptions | undefined
    await app.register(async (scope) => {
      await scope.register(tollgate, options)
      scope.addHook('onRoute', (route) => void (guarded ??= route))
      scope.get('/mine', mine, serve)
    })
    app.get('/copy', { config: { ...guarded?.config } }, serve)
  })
  t.equal((await app.inject('/mine')).statusCode, 401)
  t.equal((await app.inject('/copy')).statusCode, 500)
})
