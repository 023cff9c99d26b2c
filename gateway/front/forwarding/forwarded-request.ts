import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import { Refusal } from '../../../shared/refusal.ts'
import { becomesWebSocket } from '../../../shared/node/upgrade.ts'
import { signatureHeader, signatureRefused } from '../../../shared/signature.ts'
import { costHeader, toldCostOf, type AnswerCost } from '../limits/answer-cost.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import type { RouteForwarding } from './forwarding.ts'
import {
  isOfCaller,
  type AttemptListener,
  type BackendAnswer,
  type Failure,
  type Outgoing,
} from './attempt.ts'
import { BodyCost } from './body-cost.ts'
import { CallerBody, readWhole, smallBytes } from './caller-body.ts'
import { headersForCaller, outgoingHeaders } from './headers.ts'
import { end, endingOf, type OnItsWay } from './ending.ts'
import { locationFor } from './location.ts'
import { hasWrongDigest } from './signed-headers.ts'
import { overloaded, slow, tooLarge, unhealthy, unsigned, wrongDigest } from './refusals.ts'
import { TargetAttempt } from './target-attempt.ts'
import type { Target } from './target.ts'
import { becomeWebSocket } from './web-socket.ts'

/** Methods that do no harm twice, in case a failed attempt was executed after all. */
const idempotent = new Set(['GET', 'HEAD', 'QUERY', 'OPTIONS', 'PUT', 'DELETE'])

const noTargets: readonly Target[] = []

/** The most answers of a gateway that are read on for their cost. */
const mostDrains = 64

/** One request to an upstream: its body, its attempts (mostly one) and its answer. */
export class ForwardedRequest implements AttemptListener, OnItsWay {
  readonly forwarding: RouteForwarding
  readonly request: FastifyRequest
  readonly record: RequestRecord
  readonly reply: FastifyReply
  /** Path and query at the backend. */
  readonly #target: string
  #bodyTimer: NodeJS.Timeout | undefined
  #outgoing: Outgoing | undefined
  #tried = noTargets
  #attempt: TargetAttempt | undefined
  /** Called at the end of an answer that is read on for its cost. */
  #drained: (() => void) | undefined

  constructor(
    forwarding: RouteForwarding,
    request: FastifyRequest,
    record: RequestRecord,
    reply: FastifyReply,
    target: string,
  ) {
    this.forwarding = forwarding
    this.request = request
    this.record = record
    this.reply = reply
    this.#target = target
  }

  /**
   * Waits for a body: for all of a small one, else for its first byte. The backend isn't asked before, so a body
   * that never comes takes none of its room.
   */
  waitForBody(length: number): void {
    const { raw } = this.request
    const { route, upstream } = this.forwarding
    const { requestMs } = upstream.settings.timeouts
    this.#bodyTimer = setTimeout(() => void refuse(this.reply, slow()), requestMs)
    this.record.upstreamCall = this
    if (wantsContinue(raw)) this.reply.raw.writeContinue()
    if (length <= smallBytes) return readWhole(raw, (body) => this.send(body))
    const body = new CallerBody(raw, {
      limit: route.bodyLimit,
      began: () => this.send(body),
      tooLarge: () => this.#tooLarge(),
    })
  }

  send(body: CallerBody | Buffer | undefined): void {
    clearTimeout(this.#bodyTimer)
    // The caller was too slow, and has got its refusal.
    if (this.reply.sent) return
    const { upstream } = this.forwarding
    const { raw, method } = this.request
    const sentAtMs = performance.now()
    this.record.sentAtMs = sentAtMs
    this.record.upstreamCall = this
    if (!upstream.hasRoom) return end(this, { refusal: overloaded(), isGivenBack: true })
    if (this.forwarding.sign && hasWrongDigest(raw.headers, body))
      return end(this, { refusal: wrongDigest(), isGivenBack: false })
    const headers = outgoingHeaders(this, this.#target, body)
    const outgoing = {
      method,
      target: this.#target,
      host: upstream.settings.passesHost ? raw.headers.host : undefined,
      callerId: this.record.caller?.id ?? '',
      headers,
      body,
      sentAtMs,
      upgrade: becomesWebSocket(raw),
    }
    this.#outgoing = outgoing
    if (!this.#attemptNext(outgoing)) end(this, { refusal: unhealthy(), isGivenBack: true })
  }

  /** The caller has gone. */
  cancel(): void {
    clearTimeout(this.#bodyTimer)
    this.#attempt?.cancel()
  }

  /** The caller has gone: reads on for the cost, where the route does, and calls back at the end. */
  drain(drained: () => void): boolean {
    const { route, drains } = this.forwarding
    const bounds = route.answerCost?.drain
    if (!bounds || drains.count >= mostDrains || !this.#attempt?.drain(bounds)) return false
    drains.began()
    this.left()
    this.#drained = drained
    return true
  }

  left(): void {
    this.record.hasLeft = true
  }

  answered(answer: BackendAnswer): void {
    const { status, body, target } = answer
    const isRefused = answer.headers[signatureHeader] === signatureRefused
    this.#note(target, status >= 500 || isRefused)
    const reply = this.reply
    if (isRefused) {
      target.refusedSignature()
      const why = 'the backend refuses signatures made with this GATEWAY_SECRET'
      return this.#giveUp(body, unsigned(), why)
    }
    this.record.answerStatus = status
    const { answerCost } = this.forwarding.route
    if (answerCost) this.#beginCost(answerCost, answer.headers)
    if (this.#drained) return
    const headers = headersForCaller(answer.headers, status, this.forwarding.via)
    if (headers instanceof Refusal) return this.#giveUp(body, headers, String(headers.cause))
    const { location } = headers
    if (typeof location === 'string') {
      const { route, upstream } = this.forwarding
      headers['location'] = locationFor(location, route, upstream.origins, this.#outgoing?.host)
    }
    const { place } = this.record
    if (place && /^text\/event-stream\b/.test(String(headers['content-type']))) place.lasts = true
    reply.code(status).headers(headers)
    // Fastify adds a content type to bytes without one, but not to a stream.
    const isPlain = !Buffer.isBuffer(body) || headers['content-type'] !== undefined
    if (isPlain) void reply.send(body)
    else void reply.header('content-length', body.length).send(Readable.from([body]))
    if (body instanceof Readable) body.once('resume', () => reply.raw.flushHeaders())
  }

  piece(piece: Buffer): void {
    this.record.bodyCost?.add(piece, !this.#drained)
  }

  trailed(trailers: IncomingHttpHeaders): void {
    this.record.isWhole = true
    if (this.record.place) this.record.leavePlace()
    if (!this.forwarding.route.answerCost) return
    this.record.toldCost = toldCostOf(this.record.toldCost, trailers[costHeader])
  }

  #beginCost(answerCost: AnswerCost, headers: IncomingHttpHeaders): void {
    if (answerCost.inBody) this.record.bodyCost = new BodyCost(headers, answerCost.inBody)
    // The trailers of a short answer come first.
    else this.record.toldCost = toldCostOf(headers[costHeader], this.record.toldCost)
  }

  upgraded(answered: IncomingHttpHeaders, backend: Duplex, target: Target): void {
    this.#note(target, false)
    becomeWebSocket(this, answered, backend)
  }

  failed(failure: Failure): void {
    const outgoing = this.#outgoing
    const { target } = failure
    const isFault = !isOfCaller(failure.kind)
    const { trace } = this.record
    if (trace) trace.failed(endingOf(failure).refusal.code)
    if (this.#drained) return this.#note(target, isFault)
    if (outgoing && this.#mayRetry(outgoing, failure)) {
      // The other side may answer; that this one did not counts all the same.
      this.#noteSide(target, isFault)
      if (this.#attemptNext(outgoing)) return
      this.#noteTime(target)
    } else this.#note(target, isFault)
    end(this, endingOf(failure))
  }

  /** An attempt has ended. */
  ended(): void {
    this.forwarding.upstream.underWay.ended()
    if (!this.#drained) return
    this.forwarding.drains.ended()
    this.#drained()
  }

  /** Asks a target that wasn't asked yet; `false` if no healthy one is left. */
  #attemptNext(outgoing: Outgoing): boolean {
    const { upstream } = this.forwarding
    const { timeouts } = upstream.settings
    const target = upstream.choose(outgoing, this.#tried)
    if (!target) return false
    this.record.trace?.asked(target.origin, this.#target, outgoing.headers)
    const isFirst = this.#tried.length === 0
    this.#tried = isFirst ? target.alone : [...this.#tried, target]
    upstream.underWay.began()
    // A second attempt gets the time that is left.
    const times = isFirst ? timeouts : { ...timeouts, responseMs: this.#leftMs(outgoing) }
    this.#attempt = new TargetAttempt(target, outgoing, times, this)
    this.#attempt.begin()
    return true
  }

  #mayRetry(outgoing: Outgoing, { isUnsent }: Failure): boolean {
    const { method, body } = outgoing
    const canRepeat = !body || (method === 'QUERY' && Buffer.isBuffer(body))
    return isUnsent && canRepeat && idempotent.has(method) && this.#leftMs(outgoing) > 0
  }

  #leftMs({ sentAtMs }: Outgoing): number {
    return sentAtMs + this.forwarding.upstream.settings.timeouts.responseMs - performance.now()
  }

  /** The body is larger than the route allows. */
  #tooLarge(): void {
    this.cancel()
    if (this.reply.raw.headersSent) this.request.raw.destroy()
    else void refuse(this.reply, tooLarge(this.forwarding.route.bodyLimit))
  }

  #note(target: Target, isFailure: boolean): void {
    this.#noteTime(target)
    this.#noteSide(target, isFailure)
  }

  #noteTime({ origin, meter }: Target): void {
    const record = this.record
    record.target = origin
    record.answeredAtMs = performance.now()
    meter.durations.add(record.answeredAtMs - record.sentAtMs)
  }

  /** Notes the end of an attempt while its upstream is swapped. */
  #noteSide(target: Target, isFailure: boolean): void {
    const { upstream } = this.forwarding
    if (!upstream.swap || !this.#outgoing) return
    const { sentAtMs, answeredAtMs } = this.record
    const ms = this.#tried.length === 1 ? (answeredAtMs || performance.now()) - sentAtMs : undefined
    upstream.noteEnd(target, this.#outgoing, isFailure, ms)
  }

  /** Refuses a request whose answer can't be handed on. */
  #giveUp(body: BackendAnswer['body'], refusal: Refusal, cause: string): void {
    if (body instanceof Readable) body.destroy()
    end(this, { refusal, cause, isGivenBack: true })
  }
}

/** Whether a caller waits for `100 Continue` before it sends its body. */
function wantsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
