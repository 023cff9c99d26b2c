import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { Pool } from 'undici'

// The proxies to compare, each in a process of its own: proxies.js KIND UPSTREAM TOKENS REDIS [PER_MINUTE]

const [kind = '', upstream = '', tokenFile = '', redisUrl = '', perMinute = '1e9'] =
  process.argv.slice(2)

const kinds: Record<string, () => Promise<string>> = {
  /** Node's floor: streams joined by hand, nothing looked at. */
  node: () => {
    const pool = new Pool(upstream, { connections: 128, pipelining: 1 })
    return listening(
      createServer((asked, response) => {
        const { method = 'GET', url: path = '/', headers } = asked
        const kept = { ...headers, connection: undefined }
        pool
          .stream({ method: method, path, headers: kept }, ({ statusCode, headers }) =>
            response.writeHead(statusCode, headers as Record<string, string>),
          )
          .catch(() => response.destroy())
      }),
    )
  },

  /** The reference: what Fastify's users have without us. */
  'http-proxy': async () => {
    const app = Fastify()
    await app.register(proxy, { upstream })
    return app.listen({ host: '127.0.0.1', port: 0 })
  },

  /** The least that knows its callers: a key in a Map, a minute and a day in memory. */
  memory: () => guarded((points, duration) => new RateLimiterMemory({ points, duration })),

  /** The same for a fleet, as the library's manual has it. */
  redis: () => {
    const storeClient = new Redis(redisUrl)
    return guarded((points, duration) => {
      return new RateLimiterRedis({ storeClient, keyPrefix: `l${duration}`, points, duration })
    })
  },
}

/** http-proxy behind a hook that finds the key's owner and asks two limiters. */
async function guarded(
  limiter: (points: number, duration: number) => RateLimiterMemory | RateLimiterRedis,
): Promise<string> {
  const owners = new Map(tokens().map((token) => [`Bearer ${token}`, token]))
  const [minute, day] = [limiter(Number(perMinute), 60), limiter(1e9, 86_400)]
  const app = Fastify()
  app.addHook('onRequest', async (request, reply) => {
    const owner = owners.get(request.headers.authorization ?? '')
    if (owner === undefined) return reply.code(401).send({ error: 'unknown' })
    try {
      const [ofMinute] = await Promise.all([minute.consume(owner), day.consume(owner)])
      reply.header('x-ratelimit-remaining', ofMinute.remainingPoints)
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      const seconds = Math.ceil(refused.msBeforeNext / 1_000)
      return reply.code(429).header('retry-after', seconds).send({ error: 'too many' })
    }
  })
  await app.register(proxy, { upstream })
  return app.listen({ host: '127.0.0.1', port: 0 })
}

function tokens(): string[] {
  return readFileSync(tokenFile, 'utf8').trim().split('\n')
}

// As the gateway does for itself: else one start in twenty is measured at 1.6 times its cost.
setFlagsFromString('--no-allocation-site-pretenuring')
const start = kinds[kind]
if (!start) throw new Error(`there is no ${kind}`)
process.send?.({ listening: await start() })

function listening(server: ReturnType<typeof createServer>): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    )
  })
}
