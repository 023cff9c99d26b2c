import type { FastifyReply, FastifyRequest } from 'fastify'
import { toTenths } from '../../shared/clock.ts'
import type { Refusal, RefusalCode } from '../../shared/refusal.ts'
import { answer, type LogLine } from '../../shared/service.ts'
import type { Announced } from './config/deprecations.ts'
import type { Caller } from './keys/caller.ts'
import { toldOf, type Standing, type ToldStanding } from './limits/headers.ts'
import type { Place } from './limits/place.ts'
import type { PartState } from './limits/parts.ts'
import type { Forbidden } from './limits/refusals.ts'
import type { Terms } from './keys/terms.ts'
import type { AnswerCost, Told, ToldCost } from './limits/answer-cost.ts'
import type { Trace } from './request-trace.ts'
import type { FairShare, ShareTaken } from './http/fair-share.ts'

export type Answer = (request: FastifyRequest, reply: FastifyReply) => unknown

/** A route as its requests know it. */
export type GuardedRoute = Readonly<{
  /** Its path in the configuration, in logs and metrics. */
  label: string
  /** The points that a request is admitted with. */
  cost: number
  /** How its answer tells what it has cost; `undefined` where it costs what it was admitted with. */
  answerCost?: AnswerCost | undefined
  /** The scopes that its requests need; `undefined` for none. */
  needs?: readonly string[] | undefined
  /** Whether its refusals have what SDKs of models read. */
  errors?: boolean | undefined
  /** The shares of its upstream; `undefined` without one. */
  share: FairShare | undefined
  /** Called for each request when its answer has ended or its caller has left. */
  ended: (request: FastifyRequest, reply: FastifyReply) => void
  /** The `RouteForwarder` of requests that have passed the stages, which only `forward` looks into; `undefined` without one. */
  forwarder: object | undefined
  /** Answers them otherwise; `undefined` for a route with a handler of its own. */
  answer: Answer | undefined
}>

/** Finds the route of a path and a method. */
export type RouteOf = (path: string, method: string) => GuardedRoute

/** Reads the cost of a request in the body of its answer, piece by piece; `isPassed` says whether the caller gets it. */
type BodyTold = Readonly<{ add(piece: Buffer, isPassed: boolean): void; told: Told }>

/** A call of a backend, which ends when its caller has left, or drains: then `drained` is called at its end. */
type UpstreamCall = Readonly<{ cancel(): void; drain?(drained: () => void): boolean }>

/** What an app sees of a guarded request. It is for reading. */
export interface GuardedRequest {
  /** The caller; `undefined` for an open route. */
  readonly caller: Caller | undefined
  /** The caller's limits, and when strikes become a ban. */
  readonly terms: Pick<Terms, 'limits' | 'bans'> | undefined
  /** The window that stops the caller first, as the headers tell it; `undefined` if it is unlimited. */
  readonly standing: ToldStanding | undefined
  /**
   * Tells what the request has cost, on a route whose `cost` is `{ estimate, from: 'answer' }`. The last call before its end
   * counts.
   */
  settle(points: number): void
}

/** The record of one guarded request. The stages fill it in; metrics, usage and log read it at the end. */
export class RequestRecord implements GuardedRequest {
  readonly route: GuardedRoute
  /** Its path, without a query. */
  path: string
  /** The times of arrival, of sending to the backend, and of its answer, by `performance`; 0 is not yet. */
  readonly beganAtMs = performance.now()
  sentAtMs = 0
  answeredAtMs = 0
  /** The caller; `undefined` until its key was found valid. */
  caller: Caller | undefined = undefined
  /** The caller's terms in the configuration at the time of the request. */
  terms: Terms | undefined = undefined
  /** The caller of a token that isn't valid any more, or of a plan that isn't offered any more. */
  turnedAway: Caller | undefined = undefined
  forbidden: Forbidden | undefined = undefined
  /** The decision and its limits, for the headers. For a stranger, those of its address. */
  stand: Standing | undefined = undefined
  /** The operations and the cap of a caller that asks how it stands. */
  parts: readonly PartState[] | undefined = undefined
  refusal: Refusal | undefined = undefined
  /** The deprecation of its operation, once somebody has asked for it. */
  announced: Announced | 'unasked' | undefined = 'unasked'
  /** The act of a test key; `undefined` without one. A request with it counts nowhere. */
  acted: string | undefined = undefined
  /** The status of its backend's answer; 0 before it, and for a WebSocket. */
  answerStatus = 0
  /** Whether the end of that answer has come, and whether its caller has left before. */
  isWhole = false
  hasLeft = false
  /** The cost that its answer tells: in a trailer, if that is well formed or alone, else in a header. */
  toldCost: ToldCost | undefined = undefined
  /** The reader of its answer's body, where its route has the cost from there. */
  bodyCost: BodyTold | undefined = undefined
  /** Whether the app's log names its caller. */
  isNamed = false
  /** Whether the handler of an app's own route has thrown, or has sent an error. */
  hasThrown = false
  /** Whether its points were given back to the day, because it could not be answered. */
  isGivenBack = false
  /** Its trace, if it is sampled. */
  trace: Trace | undefined = undefined
  /** The address of the target that has answered, or failed to. */
  target: string | undefined = undefined
  /**
   * Cancels the upstream call when the connection closes, and is cleared then. It is an object, because V8 promoted
   * a closure to old space together with the whole request: a third of all memory outlived its request, and a
   * collection took 13 ms instead of 3.
   */
  upstreamCall: UpstreamCall | undefined = undefined
  /** Its place among the requests under way of its caller, where these are limited, until its answer has ended. */
  place: Place | undefined = undefined
  /** The shares of its upstream, in which it is counted until its answer has ended. */
  share: FairShare | undefined = undefined
  /** The share of that upstream that its quota had, if it got no more. */
  shareTaken: ShareTaken | undefined = undefined
  /** Whether its answer has ended or its caller has left. A stage that waited takes nothing more then. */
  hasEnded = false

  constructor(route: GuardedRoute, path: string) {
    this.route = route
    this.path = path
  }

  get standing(): ToldStanding | undefined {
    return this.stand && toldOf(this.stand)
  }

  /** Gives its place back: its answer has come from the backend, or no connection to one is left. */
  leavePlace(): void {
    const { place } = this
    this.place = undefined
    if (!place) return
    // A backend may go on with a request whose caller has left.
    if (this.hasLeft && !this.isWhole && place.lingerMs > 0) {
      setTimeout(() => place.leave(), place.lingerMs).unref()
    } else place.leave()
  }

  /** Tells what the request has cost, by the handler of an app's own route. The last call before its end counts. */
  settle(points: number): void {
    const { answerCost, forwarder } = this.route
    if (!answerCost || forwarder) {
      throw new Error(
        "settle is for routes of an app's own whose config.cost is { estimate, from: 'answer', atMost }",
      )
    }
    if (!Number.isSafeInteger(points) || points < 0) {
      throw new Error(`settle takes a whole number of points from 0 on, got ${points}`)
    }
    if (!this.hasEnded) this.toldCost = String(Math.min(points, answerCost.atMost + 1))
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Tollgate's record of this request; `null` where a route isn't guarded. Apps see a `GuardedRequest`. @internal */
    tollgate: RequestRecord | null
  }
}

/** Answers with a refusal, and notes it. */
export function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { tollgate } = reply.request
  if (tollgate) tollgate.refusal = refusal
  return answer(reply, refusal)
}

/**
 * The outcome of a request: admitted, refused with a code, acted for a test key, a preflight, `open` to anybody, or
 * `gone` if the caller left first.
 */
export type Outcome = 'admitted' | RefusalCode | 'acted' | 'preflight' | 'open' | 'gone'

export function outcomeOf(
  { refusal, stand, caller, acted }: RequestRecord,
  { method }: FastifyRequest,
): Outcome {
  if (acted !== undefined) return 'acted'
  if (refusal) return refusal.code
  if (!stand) return 'gone'
  if (caller) return 'admitted'
  return method === 'OPTIONS' ? 'preflight' : 'open'
}

/** Adds to a log line the milliseconds in the gateway before sending, and those until the backend's answer. */
export function addTimes(line: LogLine, record: RequestRecord, nowMs: number): void {
  const { beganAtMs, sentAtMs, answeredAtMs } = record
  line['ownMs'] = toTenths((sentAtMs || nowMs) - beganAtMs)
  if (sentAtMs > 0) line['upstreamMs'] = toTenths((answeredAtMs || nowMs) - sentAtMs)
}
