import type { Duplex } from 'node:stream'
import type { RefusalCode } from '../../shared/refusal.ts'
import { traceParent } from '../../shared/trace.ts'

export type TraceStart = Readonly<{
  traceId: string
  /** The caller's span, which the request is a part of; `undefined` if the trace begins here. */
  parentId: string | undefined
  /** The caller's `tracestate`. */
  state: string | undefined
  serverId: string
  newSpanId: () => string
}>

/** One try at a target; its times are those of `performance`, and `endedAtMs` is 0 until it has failed. */
export type Try = {
  readonly id: string
  readonly target: string
  readonly beganAtMs: number
  endedAtMs: number
  failure: RefusalCode | undefined
}

/** The trace of one request that is sampled: its ids, and the times that only its spans tell of. */
export class Trace {
  readonly traceId: string
  readonly parentId: string | undefined
  readonly state: string | undefined
  readonly serverId: string
  readonly #newSpanId: () => string
  /** The tries so far, in their order, and the path at their targets. */
  readonly tries: Try[] = []
  path = ''
  /** When the store was asked for a decision, and when it was made, by `performance`; 0 is not yet. */
  askedAtMs = 0
  decidedAtMs = 0
  /** The connection of a WebSocket, which ends later than its answer. */
  tunnel: Duplex | undefined = undefined

  constructor({ traceId, parentId, state, serverId, newSpanId }: TraceStart) {
    this.traceId = traceId
    this.parentId = parentId
    this.state = state
    this.serverId = serverId
    this.#newSpanId = newSpanId
  }

  /**
   * Begins a try, and puts its `traceparent` into the headers for the backend, in place of the caller's or of the try before.
   * Where the caller's was malformed, its `tracestate` goes with it.
   */
  asked(target: string, path: string, headers: string[]): void {
    for (let i = headers.length - 2; i >= 0; i -= 2) {
      const name = headers[i]?.toLowerCase()
      const isTrace = name === 'traceparent'
      if (isTrace || (name === 'tracestate' && this.parentId === undefined)) headers.splice(i, 2)
    }
    const id = this.#newSpanId()
    headers.push('traceparent', traceParent(this.traceId, id))
    this.path = path
    const beganAtMs = performance.now()
    this.tries.push({ id, target, beganAtMs, endedAtMs: 0, failure: undefined })
  }

  /** Ends the present try without an answer. */
  failed(code: RefusalCode): void {
    const last = this.tries.at(-1)
    if (last) Object.assign(last, { endedAtMs: performance.now(), failure: code })
  }
}
