import { ServerResponse, type IncomingMessage, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { InOne } from '../../shared/node/in-one.ts'
import { takeNoMore } from '../../shared/node/last-answer.ts'
import { afterAnswers, hangUp } from '../../shared/node/linger.ts'
import { ignoresUpgrade, Incoming } from '../../shared/node/upgrade.ts'
import { rawRefusal, Refusal } from '../../shared/refusal.ts'
import { Pipelines, type Take } from './pipelines.ts'

/** How long a caller may take for its headers, and keep a connection on which it asks nothing. */
const headersMs = 5_000
export const idleMs = 60_000

/** Options for Node's server. What it refuses by itself it refuses without a word of ours. */
export const wire: ServerOptions = {
  IncomingMessage: Incoming,
  ServerResponse: InOne,
  requireHostHeader: false,
  headersTimeout: headersMs,
  connectionsCheckingInterval: 1_000,
}

/** Brings requests before the stages that Node would answer, or drop, without asking anybody. */
export function routeEverything(
  server: Server,
  take: Take,
  refuse: (why: Refusal, socket: Duplex) => Refusal,
): void {
  const pipelines = new Pipelines(take)
  const takeIt = (request: IncomingMessage, response: ServerResponse): void => {
    if (ignoresUpgrade(request)) response.shouldKeepAlive = false
    if (!response.shouldKeepAlive) takeNoMore(request.socket)
    // Only the answer whose turn it is has the connection.
    if (response.socket === null) pipelines.add(request, response)
    else take(request, response)
  }
  server.on('request', takeIt)
  // Whether a body is invited is decided when somebody wants it; other expectations are not heeded.
  server.on('checkContinue', takeIt)
  server.on('checkExpectation', takeIt)
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
        // Node says so only of responses that it has made.
        response.emit('close')
      })
      socket.unshift(head)
      take(request, response)
    })
  })
}

function noTunnels(): Refusal {
  return new Refusal('method_not_allowed', 'CONNECT is not answered here.', {
    allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  })
}
