import type { NearLimit } from './counts/near-limits.ts'
import type { FleetNews } from './fleet/store.ts'

/** Hears of events in the front, which go on whether anybody listens. Each call returns at once, and never throws. */
export interface FrontListener {
  /** The store was emptied. All gateways that see it name the same `epoch`. */
  storeEmptied(epoch: string): void
  targetOut(upstream: string, target: string, cause: Error | undefined): void
  targetBack(upstream: string, target: string): void
  /** A quota has come to one of the percentages that `NearLimits` watches. */
  nearLimit(near: NearLimit): void
  /** The gateways of the fleet go by different configurations, or by one again. */
  fleetNews(news: FleetNews): void
}

/** The listener of the front: the office, once it is open. */
export type Listening = { by: FrontListener | undefined }
