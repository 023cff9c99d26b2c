import type { Clock } from '../../../shared/clock.ts'
import type { Sign } from '../../../shared/signature.ts'
import type { Route } from '../config/config.ts'
import type { Ranges } from '../http/address.ts'
import type { Via } from '../http/via.ts'
import type { RequestRecord } from '../request-record.ts'
import type { Tunnels } from './tunnels.ts'
import type { UnderWay } from './under-way.ts'
import type { Upstream } from './upstream.ts'

export type ForwardingOptions = Readonly<{
  /** `undefined` in an app that has `trustProxy`. */
  trustedProxies: Ranges | undefined
  /** What both directions say of this gateway; `undefined` where it is off. */
  via: Via | undefined
  /** Signs requests; `undefined` without a secret. */
  sign: Sign | undefined
  clock: Clock
  /** Called for a caller's own signature that could be taken for the gateway's, and isn't forwarded. */
  signatureWithheld: () => void
  /** More names of headers that backends don't see: those of keys beside `Authorization`. `undefined` without any. */
  withheld: ReadonlySet<string> | undefined
  /** Called for a request that was admitted and then could not be answered. */
  unanswered: (record: RequestRecord) => void
  tunnels: Tunnels
  /** The answers that are read on for their cost alone. */
  drains: UnderWay
}>

/** All that the requests of one route share. */
export type RouteForwarding = ForwardingOptions &
  Readonly<{
    route: Route
    upstream: Upstream
    /** The headers that its configuration gives the backend, names and values in turn; `undefined` without any. */
    fixedHeaders: readonly string[] | undefined
    /** Gives a path as the backend has it; `undefined` where that is the same. */
    rewritten: ((path: string) => string) | undefined
  }>
