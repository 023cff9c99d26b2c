import proxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/config.ts'

/** Never the backend's to see: what a caller proves itself with. */
const kept = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** Sends admitted requests to the upstreams that the configuration's routes name. */
export async function forward(app: FastifyInstance, config: Config): Promise<void> {
  for (const { path, upstream } of config.routes) {
    const [target = ''] = config.upstreams.get(upstream)?.targets ?? []
    const prefix = path.replace(/\/\*$/, '')
    await app.register(proxy, {
      upstream: target,
      prefix,
      rewritePrefix: prefix,
      config: { tollgate: true },
      retryMethods: [],
      disableRequestLogging: true,
      replyOptions: { rewriteRequestHeaders: (request, headers) => forwarded(request, headers) },
    })
  }
}

function forwarded(request: unknown, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { caller, id } = request as FastifyRequest
  const sent = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !kept.has(name) && !name.startsWith('x-caller-')),
  )
  return { ...sent, 'x-request-id': id, 'x-caller-id': caller?.id, 'x-caller-plan': caller?.plan }
}
