import type { FastifyHttpOptions } from 'fastify'
import type { Server } from 'node:http'
import type { ServerOptions as TlsServerOptions } from 'node:https'
import { refusalFrom, type Refusal } from '../../../shared/refusal.ts'
import { closeQuietConnections } from '../../../shared/node/quiet.ts'
import { httpServer } from '../../../shared/tls/server.ts'
import { requestIdFrom } from '../../../shared/request-id.ts'
import { answer, refuseUnparsed } from '../../../shared/service.ts'
import { plainTarget } from './paths.ts'
import { routeEverything, idleMs, wire } from './wire.ts'

/** The time limit for the arrival of a request. */
const requestTimeoutMs = 30_000

/** `https` has the app's certificate and key, in the words of node:https, for an app that speaks TLS by itself. */
export type AppServer = Readonly<{ https?: TlsServerOptions }>

/**
 * Options for `Fastify()` with which your app treats connections and requests like the gateway's own process: request
 * ids of callers, WebSockets, `Expect`, one spelling of each path, checked framing, and our refusals where Node
 * would answer by itself.
 */
export function serverOptions({ https }: AppServer = {}): FastifyHttpOptions<Server> {
  const unchanged = (refusal: Refusal): Refusal => refusal
  const options: FastifyHttpOptions<Server> = {
    serverFactory(take) {
      const server = httpServer({ ...wire, keepAliveTimeout: idleMs }, https)
      server.requestTimeout = requestTimeoutMs
      closeQuietConnections(server)
      routeEverything(server, take, unchanged)
      return server
    },
    routerOptions: { maxParamLength: 16_384 },
    return503OnClosing: false,
    genReqId: ({ headers }) => requestIdFrom(headers['x-request-id']),
    rewriteUrl: ({ url = '' }) => plainTarget(url) ?? url,
    frameworkErrors: (error, _request, reply) => void answer(reply, refusalFrom(error)),
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket, unchanged),
  }
  // Fastify then calls the app's address by its scheme.
  return https ? Object.assign(options, { https }) : options
}
