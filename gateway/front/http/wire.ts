import type { Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { boundChunks } from '../../../shared/node/chunks.ts'
import { ServerResponse, type IncomingMessage } from '../../../shared/node/http.ts'
import { InOne } from '../../../shared/node/in-one.ts'
import { takeNoMore } from '../../../shared/node/last-answer.ts'
import { afterAnswers, hangUp } from '../../../shared/node/linger.ts'
import { ignoresUpgrade, Incoming } from '../../../shared/node/upgrade.ts'
import { rawRefusal, Refusal } from '../../../shared/refusal.ts'
import { usualMethods } from './methods.ts'
import { Pipelines, type Take } from './pipelines.ts'

/** The time limits for a request's headers, and for an idle connection. */
const headersMs = 5_000
export const idleMs = 60_000

/** Options for Node's server. They turn off checks that Node would answer without our body and headers. */
export const wire: ServerOptions = {
  IncomingMessage: Incoming,
  ServerResponse: InOne,
  requireHostHeader: false,
  headersTimeout: headersMs,
  connectionsCheckingInterval: 1_000,
}

/** Routes all requests through the stages, also those that Node would answer or drop by itself. */
export function routeEverything(
  server: Server,
  take: Take,
  refuse: (why: Refusal, socket: Duplex) => Refusal,
): void {
  const pipelines = new Pipelines(take)
  const route = (request: IncomingMessage, response: ServerResponse): void => {
    if (ignoresUpgrade(request)) response.shouldKeepAlive = false
    if (!response.shouldKeepAlive) takeNoMore(request.socket)
    // Node gives the connection only to the response that comes next.
    if (response.socket === null) {
      boundChunks(request)
      pipelines.add(request, response)
    } else take(request, response)
  }
  server.on('request', route)
  // `forward` sends 100 Continue when it wants the body. Other expectations are ignored.
  server.on('checkContinue', route)
  server.on('checkExpectation', route)
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => undefined)
    afterAnswers(socket, () => hangUp(socket, rawRefusal(refuse(noTunnels(), socket))))
  })
  server.on('upgrade', (request, socket: Socket, head) => {
    socket.on('error', () => undefined)
    socket.setTimeout(0)
    afterAnswers(socket, () => {
      const response = new ServerResponse(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket)
      response.once('finish', () => {
        response.detachSocket(socket)
        if (response.statusCode !== 101) hangUp(socket)
        // Node emits it only for responses that it has made.
        response.emit('close')
      })
      socket.unshift(head)
      take(request, response)
    })
  })
}

function noTunnels(): Refusal {
  return new Refusal('method_not_allowed', 'CONNECT isn’t supported.', {
    allow: usualMethods.join(', '),
  })
}
