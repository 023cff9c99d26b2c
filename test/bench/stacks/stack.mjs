// Starts a contestant that isn't a dependency of Tollgate: stack.mjs KIND UPSTREAM REDIS [PER_MINUTE]
const [kind, upstream, redis, perMinute] = process.argv.slice(2)

/** The windows' lengths and limits: a minute and a day that refuse nothing, or a minute alone that does. */
const windows = perMinute
  ? { 'minute:': [60_000, Number(perMinute)] }
  : { 'minute:': [60_000, 1e9], 'day:': [86_400_000, 1e9] }

const kinds = {
  /** @fastify/rate-limit by key, a minute and a day in Redis, and @fastify/http-proxy. */
  async 'rate-limit'() {
    const { default: Fastify } = await import('fastify')
    const { default: proxy } = await import('@fastify/http-proxy')
    const { default: rateLimit } = await import('@fastify/rate-limit')
    const { Redis } = await import('ioredis')
    const app = Fastify()
    const client = new Redis(redis, { enableOfflineQueue: true, maxRetriesPerRequest: 1 })
    const keyGenerator = ({ headers }) => headers.authorization ?? ''
    // Registered twice: handlers of one registration run once a request, and know one store.
    for (const [nameSpace, [timeWindow, max]] of Object.entries(windows)) {
      await app.register(rateLimit, {
        max,
        timeWindow,
        redis: client,
        nameSpace,
        keyGenerator,
      })
    }
    await app.register(proxy, { upstream })
    return app.listen({ host: '127.0.0.1', port: 0 })
  },

  /** fast-gateway as it comes: a proxy, no keys, no limits. */
  async 'fast-gateway'() {
    const { default: gateway } = await import('fast-gateway')
    const app = gateway({ routes: [{ prefix: '/v1', target: upstream, prefixRewrite: '/v1' }] })
    const server = await app.start(0, '127.0.0.1')
    return `http://127.0.0.1:${(server.address?.() ?? app.server.address()).port}`
  },

  /** Express with express-rate-limit, twice, in Redis, and http-proxy-middleware. */
  async express() {
    const { default: express } = await import('express')
    const { rateLimit } = await import('express-rate-limit')
    const { RedisStore } = await import('rate-limit-redis')
    const { createProxyMiddleware } = await import('http-proxy-middleware')
    const { Agent } = await import('node:http')
    const { Redis } = await import('ioredis')
    const client = new Redis(redis)
    const limit = ([prefix, [windowMs, limit]]) =>
      rateLimit({
        windowMs,
        limit,
        standardHeaders: false,
        keyGenerator: (request) => request.headers.authorization ?? '',
        store: new RedisStore({
          prefix: `express:${prefix}`,
          sendCommand: (...args) => client.call(...args),
        }),
      })
    const app = express()
    app.use(...Object.entries(windows).map(limit))
    app.use(createProxyMiddleware({ target: upstream, agent: new Agent({ keepAlive: true }) }))
    return new Promise((resolve) => {
      const server = app.listen(0, '127.0.0.1', () =>
        resolve(`http://127.0.0.1:${server.address().port}`),
      )
    })
  },
}

process.send({ listening: await kinds[kind]() })
