import type { Duplex } from 'node:stream'
import { traceParent } from '../../shared/trace.ts'

export type TraceStart = Readonly<{
  traceId: string
  /** The caller's span, which the request is a part of; `undefined` if the trace begins here. */
  parentId: string | undefined
  /** The caller's `tracestate`. */
  state: string | undefined
  serverId: string
  clientId: string
}>

/** The trace of one request that is sampled: its ids, and the times that only its spans tell of. */
export class Trace {
  readonly traceId: string
  readonly parentId: string | undefined
  readonly state: string | undefined
  readonly serverId: string
  readonly clientId: string
  /** The last target that was asked, the path there, and the number of targets asked so far. */
  target: string | undefined = undefined
  path = ''
  tries = 0
  /** When the store was asked for a decision, and when it was made, by `performance`; 0 is not yet. */
  askedAtMs = 0
  decidedAtMs = 0
  /** The connection of a WebSocket, which ends later than its answer. */
  tunnel: Duplex | undefined = undefined

  constructor({ traceId, parentId, state, serverId, clientId }: TraceStart) {
    this.traceId = traceId
    this.parentId = parentId
    this.state = state
    this.serverId = serverId
    this.clientId = clientId
  }

  /**
   * Puts the gateway's `traceparent` into headers for the backend, in place of the caller's. Where that one was malformed,
   * its `tracestate` goes with it.
   */
  continueIn(headers: string[]): void {
    for (let i = headers.length - 2; i >= 0; i -= 2) {
      const name = headers[i]?.toLowerCase()
      const isTrace = name === 'traceparent'
      if (isTrace || (name === 'tracestate' && this.parentId === undefined)) headers.splice(i, 2)
    }
    headers.push('traceparent', traceParent(this.traceId, this.clientId))
  }

  asked(target: string, path: string): void {
    this.target = target
    this.path = path
    this.tries++
  }
}
