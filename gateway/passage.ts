import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import type { Clock } from '../shared/clock.ts'
import { hasBody } from '../shared/linger.ts'
import type { Refusal } from '../shared/refusal.ts'
import { answer, pathOf } from '../shared/service.ts'
import { sign, signatureHeader } from '../shared/signature.ts'
import type { Ranges } from './address.ts'
import type { Route } from './config/config.ts'
import {
  bodied,
  broken,
  late,
  overloaded,
  slow,
  tooLarge,
  unhealthy,
  unreachable,
  unsendable,
  unsigned,
} from './forwarding-refusals.ts'
import { forwardedHeaders, passedBack, passedOn, type Headers } from './headers.ts'
import type { Durations } from './records/meters.ts'
import { CallerBody } from './upstreams/caller-body.ts'
import type { Answer, Failure } from './upstreams/exchange.ts'
import type { Refused, Upstream } from './upstreams/upstream.ts'
import { becomesWebSocket } from './wire.ts'

export type PassageOptions = Readonly<{
  trustedProxies: Ranges
  /** Shared with the backends, which take only what was signed with it; without it, nothing is signed. */
  secret: string | undefined
  clock: Clock
  /** Told of a request that was admitted and then could not be answered. */
  unanswered: (request: FastifyRequest) => void
  /** Where the times until an upstream answers are written down. */
  upstreamMeter: (upstream: string) => Durations
}>

/** Takes a request to its backend at a path, and the answer back. */
export type Passage = (request: FastifyRequest, reply: FastifyReply, path: string) => FastifyReply

/** The way of one route's requests to its upstream and back, streaming in both directions. */
export function passageOf(options: PassageOptions, route: Route, upstream: Upstream): Passage {
  const { trustedProxies, secret, clock, unanswered } = options
  const { name } = upstream.settings
  const meter = options.upstreamMeter(name)

  return function pass(request, reply, path) {
    const { raw, method } = request
    // Who has gone while its key or quota was looked up is not asked for any more.
    if (reply.raw.destroyed) return reply.hijack()
    const length = raw.headers['content-length']
    const isBodied = hasBody(raw)
    if (isBodied && (method === 'GET' || method === 'HEAD')) return answer(reply, bodied(method))
    if (Number(length ?? 0) > route.bodyLimit) return answer(reply, tooLarge(route.bodyLimit))
    const target = path + request.url.slice(pathOf(request).length)
    const headers = headersFor(request, target)
    if (isBodied && length !== undefined) headers.push('content-length', length)
    const body = isBodied
      ? new CallerBody(raw, {
          limit: route.bodyLimit,
          wanted: () => {
            if (isToBeInvited(raw)) reply.raw.writeContinue()
          },
          tooLarge: () => {
            sent.cancel()
            if (reply.raw.headersSent) raw.destroy()
            else void answer(reply, tooLarge(route.bodyLimit))
          },
        })
      : undefined
    const { course } = request
    if (course) course.sentAtMs = performance.now()
    const sent = upstream.send(
      { method, target, headers, body, upgrade: becomesWebSocket(raw) },
      {
        answered: (answered) => {
          timed(request)
          passBack(request, reply, answered)
        },
        upgraded: (headers, socket) => {
          timed(request)
          goOn(request, reply, headers, socket)
        },
        failed: (failure) => {
          // What is refused here was never sent.
          if (typeof failure !== 'string') timed(request)
          fail(request, reply, failure)
        },
      },
    )
    if (course) course.sent = sent
    return reply
  }

  function timed({ course }: FastifyRequest): void {
    if (!course) return
    course.answeredAtMs = performance.now()
    meter.add(course.answeredAtMs - course.sentAtMs)
  }

  function headersFor(request: FastifyRequest, target: string): string[] {
    const { raw, method, id: requestId, caller } = request
    const headers = [...passedOn(raw), ...forwardedHeaders(raw, trustedProxies)]
    const { id: callerId = '', plan = '' } = caller ?? {}
    headers.push('x-request-id', requestId, 'x-caller-id', callerId, 'x-caller-plan', plan)
    if (!secret) return headers
    const signature = sign(secret, { method, target, callerId, plan, requestId }, clock())
    headers.push(signatureHeader, signature)
    return headers
  }

  function passBack(request: FastifyRequest, reply: FastifyReply, answered: Answer): void {
    const { status, body } = answered
    const giveUp = (refusal: Refusal, why: string): void => {
      if (body instanceof Readable) body.destroy()
      refuse(request, reply, refusal, why)
    }
    if (answered.headers[signatureHeader] !== undefined) {
      return giveUp(unsigned(), 'the backend takes nothing that is signed with this GATEWAY_SECRET')
    }
    const headers = passedBack(answered.headers, status)
    if (!headers) return giveUp(broken(), 'a header of the answer is none')
    relocate(headers)
    reply.code(status).headers(headers)
    // Fastify would give a type to bytes that have none, but not to a stream of them.
    const isPlain = !Buffer.isBuffer(body) || headers['content-type'] !== undefined
    if (isPlain) void reply.send(body)
    else void reply.header('content-length', body.length).send(Readable.from([body]))
    if (body instanceof Readable) body.once('resume', () => reply.raw.flushHeaders())
  }

  /** What a backend says of places of its own is said of the gateway's. */
  function relocate(headers: Headers): void {
    const { location } = headers
    if (typeof location !== 'string') return
    const path = pathAt(location)
    if (path === undefined) return
    const { rewrite } = route
    const isRewritten = rewrite !== undefined && path.startsWith(rewrite.slice(0, -1))
    headers['location'] = isRewritten
      ? route.path.slice(0, -1) + path.slice(rewrite.length - 1)
      : path
  }

  /** The path of a place that is the backend's own; none for a place elsewhere. */
  function pathAt(location: string): string | undefined {
    const origin = upstream.targets.find(
      (target) => location === target.origin || location.startsWith(`${target.origin}/`),
    )?.origin
    const path = origin === undefined ? location : location.slice(origin.length) || '/'
    // What begins with two slashes would lead to another host.
    return path.startsWith('/') && !/^\/[/\\]/.test(path) ? path : undefined
  }

  /** Lets a connection become the WebSocket that both ends have agreed on. */
  function goOn(
    request: FastifyRequest,
    reply: FastifyReply,
    answered: IncomingHttpHeaders,
    backend: Duplex,
  ): void {
    const { socket } = request.raw
    if (socket.destroyed) return void backend.destroy()
    const headers = passedBack(answered, 101) ?? {}
    reply.raw.once('finish', upstream.join(socket, backend))
    void reply
      .code(101)
      .headers({ ...headers, connection: 'Upgrade', upgrade: 'websocket' })
      .send()
  }

  function fail(request: FastifyRequest, reply: FastifyReply, failure: Failure | Refused): void {
    if (failure === 'none healthy') {
      return refuse(request, reply, unhealthy())
    }
    if (failure === 'overloaded') {
      return refuse(request, reply, overloaded())
    }
    const { kind, cause } = failure
    if (kind === 'unsendable') return void answer(reply, unsendable())
    if (kind === 'slow') return void answer(reply, slow())
    refuse(
      request,
      reply,
      kind === 'late' ? late() : kind === 'broken' ? broken() : unreachable(),
      cause,
    )
  }

  /** There is no answer: the cause, if there is news in it, is for the log; the day's point comes back. */
  function refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    refusal: Refusal,
    cause?: Error | string,
  ): void {
    const why = typeof cause === 'string' ? { cause } : { err: cause }
    if (cause !== undefined) request.log.error({ upstream: name, ...why }, refusal.message)
    unanswered(request)
    void answer(reply, refusal)
  }
}

/** Whether a caller waits to be told that its body is wanted. */
function isToBeInvited({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
