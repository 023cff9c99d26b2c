import type { FastifyHttpOptions } from 'fastify'
import { createServer, type Server } from 'node:http'
import { refusalFrom, type Refusal } from '../../shared/refusal.ts'
import { closeQuietConnections } from '../../shared/node/quiet.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import { answer, refuseUnparsed } from '../../shared/service.ts'
import { plainTarget } from './paths.ts'
import { routeEverything, idleMs, wire } from './wire.ts'

/** How long a request may take to arrive. */
const requestTimeoutMs = 30_000

/**
 * Options for `Fastify()` with which an app of yours treats connections and requests as the gateway's own process
 * does: callers' request ids, WebSockets, `Expect`, one spelling of each path, HTTP's framing looked at before
 * anything else, and refusals of ours for what Node would refuse by itself.
 */
export function serverOptions(): FastifyHttpOptions<Server> {
  const asItIs = (refusal: Refusal): Refusal => refusal
  return {
    serverFactory(take) {
      const server = createServer({ ...wire, keepAliveTimeout: idleMs })
      server.requestTimeout = requestTimeoutMs
      closeQuietConnections(server)
      routeEverything(server, take, asItIs)
      return server
    },
    routerOptions: { maxParamLength: 16_384 },
    return503OnClosing: false,
    genReqId: ({ headers }) => requestIdFrom(headers['x-request-id']),
    rewriteUrl: ({ url = '' }) => plainTarget(url) ?? url,
    frameworkErrors: (error, _request, reply) => void answer(reply, refusalFrom(error)),
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket, asItIs),
  }
}
