import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyHttpOptions,
} from 'fastify'
import type { IncomingMessage, Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { variedBy } from './caching.ts'
import { toTenths } from './clock.ts'
import { boundChunks } from './node/chunks.ts'
import { loggable, logsRequests, type LogSettings } from './log.ts'
import { InOne } from './node/in-one.ts'
import { takesNoMore } from './node/last-answer.ts'
import { afterAnswers, answerOn, hangUp, isAnsweredEarly, letArrive } from './node/linger.ts'
import { closeQuietConnections } from './node/quiet.ts'
import { prefersProblems, problemBody, problemType } from './problem.ts'
import { jsonType, rawRefusal, Refusal, refusalFrom } from './refusal.ts'
import { requestIdFrom } from './request-id.ts'
import { logOf, serviceLog } from './request-log.ts'
import type { FollowedTls } from './tls/followed.ts'
import { followedServer } from './tls/server.ts'
import { traceIdFrom } from './trace.ts'

/** The members of a log line. */
export type LogLine = Record<string, string | number>

export type ServiceOptions = Readonly<{
  name: string
  log?: LogSettings | undefined
  /** Called with the refusal for a thrown value. */
  refused?: (request: FastifyRequest, refusal: Refusal) => void
  /** Makes the refusal for a thrown value; `refusalFrom` by default. */
  refusalFor?: (thrown: unknown, request: FastifyRequest) => Refusal
  /** Adds members to the log line of an answered request; `false` leaves the line out. */
  describe?: (line: LogLine, request: FastifyRequest, reply: FastifyReply) => boolean
  /** Changes the refusal of a request that couldn't be parsed. */
  malformed?: Malformed
  /** Whether each of its routes bounds chunks and writes the log line of an answer itself: it looks at both ends of a request. */
  isFollowed?: boolean
  settings?: FastifyHttpOptions<Server>
  /** The certificate of its address; without it, it speaks plain HTTP. */
  tls?: FollowedTls | undefined
}>

/** The sender is the whole request if its headers could be read, otherwise its socket. */
export type Malformed = (
  refusal: Refusal,
  sender: IncomingMessage | Readonly<{ socket: Socket }>,
) => Refusal

/**
 * No route has a schema that Fastify would compile. Unless others are named, it loads its compilers: 130 files, which take
 * 30 ms of each start and 3 MB.
 */
const noCompilers = { buildValidator: neverCompiled, buildSerializer: neverCompiled }

function neverCompiled(): never {
  throw new Error('routes check their requests themselves, and have no schemas for Fastify')
}

/** Creates a Fastify app with the errors and logs of both services: one form of error, one log line per request. */
export function createService(options: ServiceOptions): FastifyInstance {
  const { name, log, refusalFor = refusalFrom, refused, describe, settings, tls } = options
  const { malformed = (refusal: Refusal) => refusal, isFollowed = false } = options
  const ownLog = log && serviceLog(name, log)
  const app = Fastify({
    routerOptions: { maxParamLength: 16_384 },
    requestTimeout: 30_000,
    return503OnClosing: false,
    http: { ServerResponse: InOne },
    schemaController: { compilersFactory: noCompilers },
    ...settings,
    ...(tls ? byTls(tls, settings?.http ?? { ServerResponse: InOne }) : {}),
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const refusal = malformed(refusalFrom(error), request.raw)
      // Other lines about this sender are enough.
      if (refusal.status !== 429)
        ownLog?.info({ reqId: request.id, status: refusal.status }, 'malformed request')
      void answer(reply, refusal)
    },
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket, malformed),
  })
  closeQuietConnections(app.server)
  if (ownLog) app.log = ownLog
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalFor(error, request)
    if (refusal.status >= 500) logOf(request).error({ err: error }, refusal.message)
    refused?.(request, refusal)
    return answer(reply, refusal)
  })
  // If Fastify got the log at its creation, it would listen for the end of each answer to write lines that we don't want: two
  // listeners per request, 1 µs. Lines about a request are written by `logOf`.
  app.addHook('onRequest', (request, reply, done) => {
    if (ownLog) request.log = reply.log = ownLog
    if (!isFollowed) {
      boundChunks(request.raw, () => {
        if (!reply.sent) void reply.send(tooSmallChunks())
      })
    }
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    letArrive(request.raw, reply.raw, reply.statusCode)
    done(null, payload)
  })
  const tell = ownLog && log && !isFollowed ? tellerOf(ownLog, log, describe) : undefined
  if (tell) tellEachEnd(app, tell)
  return app
}

/** The settings of an app whose servers speak TLS: at localhost it has two. */
function byTls(tls: FollowedTls, http: ServerOptions) {
  const settings: FastifyHttpOptions<Server> = {
    serverFactory(take, app) {
      const keepAliveTimeout = Number(app['keepAliveTimeout'])
      const requestTimeout = Number(app['requestTimeout'])
      return followedServer({ ...http, keepAliveTimeout, requestTimeout }, tls, take)
    },
  }
  // Fastify then calls the app's address by its scheme.
  return Object.assign(settings, { https: {} })
}

export function tooSmallChunks(): Refusal {
  const sentence = 'The body comes in too many small chunks. Send larger ones, or a Content-Length.'
  return new Refusal('invalid_request', sentence, { connection: 'close' })
}

/** Answers with a refusal, in the form that the request prefers. */
export function answer(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { request } = reply
  const vary = variedBy('Accept', reply.getHeader('vary'))
  reply.code(refusal.status).headers(refusal.headers).header('vary', vary)
  if (!prefersProblems(request.headers.accept)) return reply.type(jsonType).send(refusal.body)
  return reply.type(problemType).send(problemBody(refusal, pathOf(request), request.id))
}

/** The status for a caller that left before its answer began, as in nginx. */
const goneStatus = 499

/** The status of the answer to a request. */
export function statusOf({ raw, statusCode }: FastifyReply): number {
  return raw.headersSent ? statusCode : goneStatus
}

/** The path of a request, without its query. */
export function pathOf({ url }: Pick<FastifyRequest, 'url'>): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

const probes = new Set(['/healthz', '/readyz', '/metrics'])

/** Writes the log line of a request that has ended. */
export type TellEnd = (request: FastifyRequest, reply: FastifyReply, beganAtMs: number) => void

/** Writes the lines of requests; `undefined` for a log whose level leaves them out. */
export function tellerOf(
  log: FastifyBaseLogger,
  { level }: Pick<LogSettings, 'level'>,
  describe: ServiceOptions['describe'],
): TellEnd | undefined {
  if (!logsRequests(level)) return undefined
  return (request, reply, beganAtMs) => {
    const ms = toTenths(performance.now() - beganAtMs)
    const { method, headers } = request
    const status = statusOf(reply)
    const path = loggable(pathOf(request))
    // Frequent probes are logged only if they fail.
    if (probes.has(path) && status === 200) return
    const trace = traceIdFrom(headers['traceparent'])
    const line: LogLine = { reqId: request.id, method, path, status, ms }
    if (trace !== undefined) line['trace'] = trace
    if (describe?.(line, request, reply) === false) return
    log.info(line, reply.raw.writableFinished ? 'answered' : 'left before the answer ended')
  }
}

function tellEachEnd(app: FastifyInstance, tell: TellEnd): void {
  app.addHook('onRequest', (request, reply, done) => {
    const beganAtMs = performance.now()
    // 'close' also comes for callers that leave before their answer.
    reply.raw.on('close', () => tell(request, reply, beganAtMs))
    done()
  })
}

/** Answers bytes that Node's parser couldn't read with a refusal, if the client is still there, and hangs up. */
export function refuseUnparsed(error: Error, socket: Socket, malformed: Malformed): void {
  const isReset = 'code' in error && error.code === 'ECONNRESET'
  // Bytes after a last answer are ignored: the connection stays open for a short time, until the client has read it.
  if (!isReset && !socket.writable && takesNoMore(socket)) return
  if (!socket.writable || isReset) {
    socket.destroy()
    return
  }
  const refusal = refusalFrom(Object.assign(error, { statusCode: 400 }))
  const refuse = (): void => hangUp(socket, rawRefusal(malformed(refusal, { socket })))
  const answering = answerOn(socket)
  const isOfThis = answering !== undefined && !answering.req.complete
  // During an answer a refusal would be read as a part of it, or as the next answer: only closing is possible.
  if (isAnsweredEarly(socket) || (isOfThis && answering.headersSent)) socket.destroy()
  else if (isOfThis) refuse()
  else if (!takesNoMore(socket)) afterAnswers(socket, refuse)
  // After the last request any bytes are ignored. Its answer ends the connection.
  else if (!answering && socket.readableEnded) socket.destroy()
}
