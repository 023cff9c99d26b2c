import type { FastifyReply } from 'fastify'
import type { Refusal, RefusalCode } from '../shared/refusal.ts'
import { answer, type LogLine } from '../shared/service.ts'
import type { Caller } from './keys/caller.ts'
import type { Standing } from './limits/headers.ts'
import type { Terms } from './limits/terms.ts'
import type { FairShare } from './forwarding/fair-share.ts'

/** All that is known of one guarded request. The stages fill it in; metrics, usage and log read it at the end. */
export class RequestRecord {
  /** The path of its route in the configuration. */
  readonly route: string
  /** When it came, was sent on, and began to be answered, by the clock of `performance`; 0: not yet. */
  readonly beganAtMs = performance.now()
  sentAtMs = 0
  answeredAtMs = 0
  /** Who sends it; `undefined` until its key was found valid. */
  caller: Caller | undefined = undefined
  /** The caller's terms in the configuration that was in force when it came. */
  terms: Terms | undefined = undefined
  /** Why the request is forbidden: its key isn't for this operation or address, or may never have as many points. */
  forbidden: 'operation' | 'address' | 'cost' | undefined = undefined
  /** The decision and the limits that it was made by, which the headers tell. A stranger's are its address's. */
  standing: Standing | undefined = undefined
  refusal: Refusal | undefined = undefined
  /** The address of the target that has answered, or failed to. */
  target: string | undefined = undefined
  /**
   * Cancels the upstream call when the connection closes, and is cleared then. It is an object: V8 promoted a
   * closure to old space, and with it all that a request leads to. A third of all memory outlived its request
   * so, and a collection took 13 ms instead of 3.
   */
  upstreamCall: { cancel(): void } | undefined = undefined
  /** The upstream at which it is counted as under way for its quota, until its answer has ended. */
  share: FairShare | undefined = undefined

  constructor(route: string) {
    this.route = route
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Tollgate's record of this request; `null` where a route isn't guarded. */
    tollgate: RequestRecord | null
  }
}

/** Answers with a refusal, and notes it. */
export function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { tollgate } = reply.request
  if (tollgate) tollgate.refusal = refusal
  return answer(reply, refusal)
}

/** The outcome of a request: let in, refused for a reason, asked by a browser; or its caller left first. */
export type Outcome = 'admitted' | RefusalCode | 'preflight' | 'gone'

export function outcomeOf({ refusal, standing, caller }: RequestRecord): Outcome {
  if (refusal) return refusal.code
  if (!standing) return 'gone'
  return caller ? 'admitted' : 'preflight'
}

/** Where the time of a request went, in milliseconds: here until it was sent on, then until its backend answered. */
export function addTimes(line: LogLine, record: RequestRecord, nowMs: number): void {
  const { beganAtMs, sentAtMs, answeredAtMs } = record
  line['ownMs'] = rounded((sentAtMs || nowMs) - beganAtMs)
  if (sentAtMs > 0) line['upstreamMs'] = rounded((answeredAtMs || nowMs) - sentAtMs)
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
