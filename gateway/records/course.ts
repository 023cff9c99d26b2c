import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RefusalCode } from '../../shared/refusal.ts'
import type { LogLine } from '../../shared/service.ts'
import type { FairShare } from '../upstreams/fair-share.ts'

/** How a request goes, for those who tell of it when its answer has ended. */
export type Course = {
  /** The path of its route in the configuration. */
  readonly route: string
  /** When it came, was sent on, and began to be answered, by the clock of `performance`; 0: not yet. */
  readonly beganAtMs: number
  sentAtMs: number
  answeredAtMs: number
  /** The address of the target that has answered, or failed to. */
  target: string | undefined
  /**
   * What is done for it elsewhere, and ended when its connection has closed. Whoever ends it lets go of it,
   * and it is no closure: V8 made one, and with it all that a request leads to, where only a full collection
   * looks. A third of all memory outlived its request so, and each collection took 13 ms instead of 3.
   */
  sent: { cancel(): void } | undefined
  /** Where it is counted as on its way for its quota, until its answer has ended. */
  share: FairShare | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    course: Course | null
  }
}

/** What was decided about a request: let in, refused for a reason, asked by a browser; or its caller left first. */
export type Outcome = 'admitted' | RefusalCode | 'preflight' | 'gone'

export function outcomeOf(
  { caller, standing }: FastifyRequest,
  { refusal }: FastifyReply,
): Outcome {
  if (refusal) return refusal.code
  if (!standing) return 'gone'
  return caller ? 'admitted' : 'preflight'
}

/** Where the time of a request went, in milliseconds: how long it took here until it was sent on, and then until its backend answered. */
export function addTimes(line: LogLine, course: Course, nowMs: number): void {
  const { beganAtMs, sentAtMs, answeredAtMs } = course
  line['ownMs'] = rounded((sentAtMs || nowMs) - beganAtMs)
  if (sentAtMs > 0) line['upstreamMs'] = rounded((answeredAtMs || nowMs) - sentAtMs)
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
