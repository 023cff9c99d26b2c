import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import type { Clock } from '../shared/clock.ts'
import { hasBody } from '../shared/linger.ts'
import type { Refusal } from '../shared/refusal.ts'
import { pathOf } from '../shared/service.ts'
import { signatureHeader, signatureRefused, type Sign } from '../shared/signature.ts'
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
import type { Caller } from './keys/caller.ts'
import { addForwarded, passedBack, passedOn, type Headers } from './headers.ts'
import { refuse, type RequestRecord } from './request-record.ts'
import type { Tunnels } from './tunnels.ts'
import { CallerBody, gather, smallBytes } from './upstreams/caller-body.ts'
import type { Answer, Failure } from './upstreams/exchange.ts'
import type { Target } from './upstreams/target.ts'
import type { Refused, Sent, Upstream, Waiter } from './upstreams/upstream.ts'
import { becomesWebSocket } from './wire.ts'

export type PassageOptions = Readonly<{
  trustedProxies: Ranges
  /** Signs what is sent on, where backends take only what is signed. */
  sign: Sign | undefined
  clock: Clock
  /** Told of a request that was admitted and then could not be answered. */
  unanswered: (record: RequestRecord) => void
  tunnels: Tunnels
}>

/** Takes a request to its backend at a path, and the answer back. */
export type Passage = (request: FastifyRequest, reply: FastifyReply, path: string) => FastifyReply

/** What all requests of a route have in common on their way. */
type Way = PassageOptions & Readonly<{ route: Route; upstream: Upstream }>

/** The way of one route's requests to its upstream and back, streaming in both directions. */
export function passageOf(options: PassageOptions, route: Route, upstream: Upstream): Passage {
  const way = { ...options, route, upstream }

  return function pass(request, reply, path) {
    const { raw, method, tollgate: record } = request
    if (!record) throw new Error('a request is forwarded after the stages')
    // Who has gone while its key or quota was looked up is not asked for any more.
    if (reply.raw.destroyed) return reply.hijack()
    const isBodied = hasBody(raw)
    if (isBodied && (method === 'GET' || method === 'HEAD')) return refuse(reply, bodied(method))
    const length = isBodied ? raw.headers['content-length'] : undefined
    if (Number(length ?? 0) > route.bodyLimit) return refuse(reply, tooLarge(route.bodyLimit))
    const target = path + request.url.slice(pathOf(request).length)
    const passing = new Passing(way, request, record, reply, target)
    if (isBodied) passing.wait(length === undefined ? Infinity : Number(length))
    else passing.send(undefined)
    return reply
  }
}

/** What a backend is told: what its caller has sent and may tell, and who that is. */
function headersFor(
  { sign, clock, trustedProxies }: Way,
  { raw, method, id: requestId }: FastifyRequest,
  caller: Caller | undefined,
  target: string,
  body: Buffer | undefined,
): string[] {
  const headers = passedOn(raw)
  addForwarded(headers, raw, trustedProxies)
  const { id: callerId = '', plan = '' } = caller ?? {}
  headers.push('x-request-id', requestId, 'x-caller-id', callerId, 'x-caller-plan', plan)
  if (!sign) return headers
  const signature = sign({ method, target, callerId, plan, requestId, body }, clock())
  headers.push(signatureHeader, signature)
  return headers
}

/** One request on its way, and what becomes of its answer. */
class Passing implements Waiter {
  readonly #way: Way
  readonly #request: FastifyRequest
  readonly #record: RequestRecord
  readonly #reply: FastifyReply
  readonly #target: string
  #sent: Sent | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    way: Way,
    request: FastifyRequest,
    record: RequestRecord,
    reply: FastifyReply,
    target: string,
  ) {
    this.#way = way
    this.#request = request
    this.#record = record
    this.#reply = reply
    this.#target = target
  }

  /**
   * Waits for a body: for all of a small one, else for its first byte. Until then the backend hears nothing of it,
   * so that bodies that never come take none of its room.
   */
  wait(length: number): void {
    const { raw } = this.#request
    const { requestMs } = this.#way.upstream.settings.timeouts
    this.#timer = setTimeout(() => void refuse(this.#reply, slow()), requestMs)
    this.#record.upstreamCall = this
    if (isToBeInvited(raw)) this.#reply.raw.writeContinue()
    if (length <= smallBytes) return gather(raw, (body) => this.send(body))
    const body = new CallerBody(raw, {
      limit: this.#way.route.bodyLimit,
      came: () => this.send(body),
      tooLarge: () => this.#tooLarge(),
    })
  }

  send(body: CallerBody | Buffer | undefined): void {
    clearTimeout(this.#timer)
    const { raw, method } = this.#request
    const { caller } = this.#record
    // Whoever was too slow has been told so.
    if (this.#reply.sent) return
    const headers = headersFor(
      this.#way,
      this.#request,
      caller,
      this.#target,
      Buffer.isBuffer(body) ? body : undefined,
    )
    const length = body && raw.headers['content-length']
    if (length !== undefined) headers.push('content-length', length)
    const sentAtMs = performance.now()
    this.#record.sentAtMs = sentAtMs
    this.#sent = this.#way.upstream.send(
      {
        method,
        target: this.#target,
        callerId: caller?.id ?? '',
        headers,
        body,
        sentAtMs,
        upgrade: becomesWebSocket(raw),
      },
      this,
    )
    this.#record.upstreamCall = this.#sent
  }

  /** The caller has gone while its body was waited for. */
  cancel(): void {
    clearTimeout(this.#timer)
    this.#sent?.cancel()
  }

  answered(answered: Answer): void {
    const { status, body, target } = answered
    this.#note(target)
    const reply = this.#reply
    if (answered.headers[signatureHeader] === signatureRefused) {
      target.refusedSignature()
      const why = 'the backend takes nothing that is signed with this GATEWAY_SECRET'
      return this.#giveUp(body, unsigned(), why)
    }
    const headers = passedBack(answered.headers, status)
    if (!headers) return this.#giveUp(body, broken(), 'a header of the answer is none')
    this.#relocate(headers)
    reply.code(status).headers(headers)
    // Fastify would give a type to bytes that have none, but not to a stream of them.
    const isPlain = !Buffer.isBuffer(body) || headers['content-type'] !== undefined
    if (isPlain) void reply.send(body)
    else void reply.header('content-length', body.length).send(Readable.from([body]))
    if (body instanceof Readable) body.once('resume', () => reply.raw.flushHeaders())
  }

  /** Lets a connection become the WebSocket that both ends have agreed on. */
  upgraded(answered: IncomingHttpHeaders, backend: Duplex, target: Target): void {
    this.#note(target)
    const { caller } = this.#record
    const { socket } = this.#request.raw
    if (socket.destroyed || !caller) return void backend.destroy()
    const headers = passedBack(answered, 101) ?? {}
    const { upstream, tunnels } = this.#way
    this.#reply.raw.once('finish', upstream.join(socket, backend, caller.quota))
    socket.once(
      'close',
      tunnels.watch(caller, () => socket.destroy()),
    )
    void this.#reply
      .code(101)
      .headers({ ...headers, connection: 'Upgrade', upgrade: 'websocket' })
      .send()
  }

  failed(failure: Failure | Refused): void {
    // What is refused here was never sent.
    if (failure === 'none healthy') return this.#refuse(unhealthy())
    if (failure === 'overloaded') return this.#refuse(overloaded())
    const { kind, cause, isUnwanted, target } = failure
    this.#note(target)
    if (kind === 'unsendable') return void refuse(this.#reply, unsendable())
    if (kind === 'slow') return void refuse(this.#reply, slow())
    if (isUnwanted) return this.#tell(broken(), cause)
    this.#refuse(kind === 'late' ? late() : kind === 'broken' ? broken() : unreachable(), cause)
  }

  /** More of the body has come than the route takes. */
  #tooLarge(): void {
    this.cancel()
    if (this.#reply.raw.headersSent) this.#request.raw.destroy()
    else void refuse(this.#reply, tooLarge(this.#way.route.bodyLimit))
  }

  #note({ origin, meter }: Target): void {
    const record = this.#record
    record.target = origin
    record.answeredAtMs = performance.now()
    meter.durations.add(record.answeredAtMs - record.sentAtMs)
  }

  /** What a backend says of places of its own is said of the gateway's. */
  #relocate(headers: Headers): void {
    const { location } = headers
    if (typeof location !== 'string') return
    const path = this.#pathAt(location)
    if (path === undefined) return
    const { rewrite, path: own } = this.#way.route
    const isRewritten = rewrite !== undefined && path.startsWith(rewrite.slice(0, -1))
    headers['location'] = isRewritten ? own.slice(0, -1) + path.slice(rewrite.length - 1) : path
  }

  /** The path of a place that is the backend's own; none for a place elsewhere. */
  #pathAt(location: string): string | undefined {
    const origin = this.#way.upstream.targets.find(
      (target) => location === target.origin || location.startsWith(`${target.origin}/`),
    )?.origin
    const path = origin === undefined ? location : location.slice(origin.length) || '/'
    // What begins with two slashes would lead to another host.
    return path.startsWith('/') && !/^\/[/\\]/.test(path) ? path : undefined
  }

  #giveUp(body: Answer['body'], refusal: Refusal, why: string): void {
    if (body instanceof Readable) body.destroy()
    this.#refuse(refusal, why)
  }

  /** There is no answer, and the day's point comes back. */
  #refuse(refusal: Refusal, cause?: Error | string): void {
    this.#way.unanswered(this.#record)
    this.#tell(refusal, cause)
  }

  /** Tells a refusal; its cause, if there is news in it, is for the log. */
  #tell(refusal: Refusal, cause: Error | string | undefined): void {
    const why = typeof cause === 'string' ? { cause } : { err: cause }
    const { name: upstream } = this.#way.upstream.settings
    if (cause !== undefined) this.#request.log.error({ upstream, ...why }, refusal.message)
    void refuse(this.#reply, refusal)
  }
}

/** Whether a caller waits to be told that its body is wanted. */
function isToBeInvited({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
