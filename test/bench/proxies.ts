import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { parseConfig } from '../../gateway/config/load.ts'
import { Gateway } from '../../gateway/server.ts'

// What is compared as a proxy, each in a process of its own: proxies.js KIND UPSTREAM [STORE]

const [kind = '', upstream = '', store = ''] = process.argv.slice(2)

const kinds: Record<string, () => Promise<string>> = {
  /** What stands behind: 150 bytes of JSON, at no cost worth a word. */
  upstream: () => {
    const body = JSON.stringify({ animals: ['x'.repeat(134)] })
    const head = { 'content-type': 'application/json', 'content-length': String(body.length) }
    return listening(
      createServer((_request, response) => void response.writeHead(200, head).end(body)),
    )
  },

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

  tollgate: async () => {
    const count = Number(process.env['ROUTES'] ?? 1) - 1
    const moreRoutes = Array.from(
      { length: count },
      (_, i) => `, { path: /r${i}/*, upstream: animals, cost: ${i % 5} }`,
    ).join('')
    const yaml = `
      plans: { bench: { perMinute: unlimited, perDay: 1000000000 } }
      strangers: { perMinute: unlimited, perDay: 1000000000 }
      upstreams: { animals: { targets: [ "${upstream}" ], health: { path: / } } }
      routes: [ { path: /v1/*, upstream: animals }${moreRoutes} ]
      deprecations: [ { operation: "GET /v1/old/{id}", since: 2025-12-05 } ]
      store: { ${store} }`
    const app = await Gateway.open({
      config: parseConfig(yaml, {}, 'bench'),
      secret: process.env['GATEWAY_SECRET'],
      log: { level: process.env['LOG_LEVEL'] ?? 'warn', target: { write: () => undefined } },
    })
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
}

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
