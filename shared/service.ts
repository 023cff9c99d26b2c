import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyHttpOptions,
} from 'fastify'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { InOne } from './node/in-one.ts'
import { loggable, logsRequests, type LogTarget } from './log.ts'
import { takesNoMore } from './node/last-answer.ts'
import { afterAnswers, answerOn, hangUp, isAnsweredEarly, letArrive } from './node/linger.ts'
import { closeQuietConnections } from './node/quiet.ts'
import { jsonType, rawRefusal, type Refusal, refusalFrom } from './refusal.ts'
import { requestIdFrom } from './request-id.ts'
import { serviceLog } from './request-log.ts'
import { traceIdFrom } from './trace.ts'

export type LogSettings = Readonly<{ level: string; target: LogTarget }>

/**
 * What a line in the log says, by name. It is filled in rather than put together from parts: spread into one
 * another, five small objects cost 15 µs a line, most of it in V8's dictionaries.
 */
export type LogLine = Record<string, string | number>

export type ServiceOptions = Readonly<{
  name: string
  log?: LogSettings | undefined
  /** Told of the refusal that a thrown value has become. */
  refused?: (request: FastifyRequest, refusal: Refusal) => void
  /** What a thrown value is to the caller, where that is for this service to know. */
  refusalFor?: (thrown: unknown) => Refusal
  /** Adds to the log line of an answered request what else is known of it; `false` if it is not to be told. */
  describe?: (line: LogLine, request: FastifyRequest, reply: FastifyReply) => boolean
  /** What becomes of the refusal of a request that could not even be parsed. */
  malformed?: Malformed
  settings?: FastifyHttpOptions<Server>
}>

/** Gets the whole request where its headers could be read, and only its socket where they couldn't. */
export type Malformed = (
  refusal: Refusal,
  sender: IncomingMessage | Readonly<{ socket: Socket }>,
) => Refusal

/** A Fastify app as both services want it: one form of error, one line in the log a request. */
export function createService(options: ServiceOptions): FastifyInstance {
  const { name, log, refusalFor = refusalFrom, refused, describe, settings } = options
  const { malformed = (refusal: Refusal) => refusal } = options
  const ownLog = log && serviceLog(name, log.level, log.target)
  const app = Fastify({
    routerOptions: { maxParamLength: 16_384 },
    requestTimeout: 30_000,
    return503OnClosing: false,
    http: { ServerResponse: InOne },
    ...settings,
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const refusal = malformed(refusalFrom(error), request.raw)
      // Whoever sends too many is told of by others of its requests, now and then.
      if (refusal.status !== 429)
        ownLog?.info({ reqId: request.id, status: refusal.status }, 'malformed request')
      void answer(reply, refusal)
    },
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket, malformed),
  })
  closeQuietConnections(app.server)
  if (ownLog) useLog(app, ownLog)
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalFor(error)
    if (refusal.status >= 500) request.log.error({ err: error }, refusal.message)
    refused?.(request, refusal)
    return answer(reply, refusal)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    letArrive(request.raw, reply.raw, reply.statusCode)
    done(null, payload)
  })
  if (ownLog && logsRequests(log.level)) logEachAnswer(app, ownLog, describe)
  return app
}

/**
 * Puts a log where Fastify has a silent one. If it were given ours, it would wait for the end of each answer
 * to write lines that we don't want: with two listeners a request, which is 4 % of a gateway's whole time.
 */
function useLog(app: FastifyInstance, log: FastifyBaseLogger): void {
  app.log = log
  app.addHook('onRequest', (request, reply, done) => {
    request.log = reply.log = log.child({ reqId: request.id })
    done()
  })
}

/** Answers with a refusal. */
export function answer(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply.code(refusal.status).headers(refusal.headers).type(jsonType).send(refusal.body)
}

/** The status of a caller that has gone before its answer began; nginx calls it so, too. */
const goneStatus = 499

/** The status that a request was answered with. */
export function statusOf({ raw, statusCode }: FastifyReply): number {
  return raw.headersSent ? statusCode : goneStatus
}

/** The path of a request, without its query. */
export function pathOf(request: FastifyRequest): string {
  const { url } = request
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

const probes = new Set(['/healthz', '/readyz', '/metrics'])

function logEachAnswer(
  app: FastifyInstance,
  log: FastifyBaseLogger,
  describe: ServiceOptions['describe'],
): void {
  const tell = (request: FastifyRequest, reply: FastifyReply, beganAtMs: number): void => {
    const ms = Math.round((performance.now() - beganAtMs) * 10) / 10
    const { method, headers } = request
    const status = statusOf(reply)
    const path = loggable(pathOf(request))
    // Whoever asks every other second whether all is well is no news, if it is.
    if (probes.has(path) && status === 200) return
    const trace = traceIdFrom(headers['traceparent'])
    const line: LogLine = { reqId: request.id, method, path, status, ms }
    if (trace !== undefined) line['trace'] = trace
    if (describe?.(line, request, reply) === false) return
    log.info(line, reply.raw.writableFinished ? 'answered' : 'left before the answer ended')
  }
  app.addHook('onRequest', (request, reply, done) => {
    const beganAtMs = performance.now()
    // Also of those who leave before they are answered.
    reply.raw.on('close', () => tell(request, reply, beganAtMs))
    done()
  })
}

/** What the parser of HTTP could make nothing of gets a last answer, if anybody is there to read it. */
export function refuseUnparsed(error: Error, socket: Socket, malformed: Malformed): void {
  const isReset = 'code' in error && error.code === 'ECONNRESET'
  // Bytes behind a last answer are no request; its connection stays until the client has read it, or for a while.
  if (!isReset && !socket.writable && takesNoMore(socket)) return
  if (!socket.writable || isReset) {
    socket.destroy()
    return
  }
  const refusal = refusalFrom(Object.assign(error, { statusCode: 400 }))
  const refuse = (): void => hangUp(socket, rawRefusal(malformed(refusal, { socket })))
  const answering = answerOn(socket)
  const isOfThis = answering !== undefined && !answering.req.complete
  // An answer that has begun can't be broken into, and a second one would be taken for the next: the end
  // of the connection is all that can be told.
  if (isAnsweredEarly(socket) || (isOfThis && answering.headersSent)) socket.destroy()
  else if (isOfThis) refuse()
  else if (!takesNoMore(socket)) afterAnswers(socket, refuse)
  // Behind the last request there may be anything; its answer ends the connection.
  else if (!answering && socket.readableEnded) socket.destroy()
}
