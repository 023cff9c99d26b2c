import type { Clock } from '../../../shared/clock.ts'
import { isWindowName } from '../../../shared/windows.ts'
import type { RequestRecord } from '../request-record.ts'
import { firstFailure, type Ended } from './ended.ts'
import { LatestByRoute } from './latest-by-route.ts'
import { failureSide } from './latest-failures.ts'
import { LiveSums } from './live-sums.ts'
import type { RouteMeter } from './meters.ts'
import { outcomes, type LiveOutcome } from './sum-rows.ts'
import { RefusedKeys, refusers } from './refused-keys.ts'

const at = Object.fromEntries(outcomes.map((name, place) => [name, place])) as Readonly<
  Record<LiveOutcome, number>
>

/** For each outcome the place in `refusers` of the cause of a refusal. */
const refuserAt = outcomes.map((outcome) => {
  const isNamed = isWindowName(outcome) || outcome === 'ban'
  return refusers.indexOf(isNamed ? outcome : 'other')
})

export type LiveCountsOptions = Readonly<{
  clock: Clock
  ticks?: Clock
  /** The meters of routes. */
  routes: ReadonlyMap<string, RouteMeter>
}>

type CountedEnd = Pick<Ended, 'record' | 'status' | 'endedAtMs'> & {
  readonly route: Pick<Ended['route'], 'meter'>
}

/** The sums of this gateway's latest requests, those by route, and the keys that it refused most in the last minute. */
export class LiveCounts {
  readonly sums: LiveSums
  readonly byRoute: LatestByRoute
  readonly refusedKeys = new RefusedKeys()

  constructor(options: LiveCountsOptions) {
    const byRoute = new LatestByRoute(options.routes)
    this.byRoute = byRoute
    this.sums = new LiveSums({ ...options, begins: (second) => byRoute.begin(second) })
  }

  /** Counts a request before the meter of its route measures it: its second may begin a minute of all routes. */
  count({ record, route: { meter }, status, endedAtMs }: CountedEnd): void {
    const outcome = placeOf(record)
    this.sums.count(record, outcome, endedAtMs)
    if (!record.refusal) {
      if (status < firstFailure) return
      this.sums.countBackendFailure()
      meter.failed++
      return
    }
    if (outcome === at.failed || outcome === at.noBackend) {
      meter.failed++
      return
    }
    meter.refused++
    const identified = record.caller ?? record.turnedAway
    if (!identified) return
    this.refusedKeys.count(identified, refuserAt[outcome] ?? 0, this.sums.second)
  }

  /** Counts bytes that never became a request. */
  malformed(record: RequestRecord, nowMs: number): void {
    this.sums.countUnmeasured(placeOf(record), nowMs)
  }
}

/** The place of a request's outcome in `outcomes`. */
function placeOf({ refusal, caller, stand }: RequestRecord): number {
  // Preflights, and callers that left before they were admitted.
  if (!refusal) return caller && stand ? at.admitted : at.others
  const { code, window, status } = refusal
  if (window) return at[window]
  if (code === 'key_banned') return at.ban
  if (status === 401 || code === 'too_many_failed_attempts') return at.strangers
  if (status < firstFailure) return at.refused
  return failureSide(refusal) === 'noBackend' ? at.noBackend : at.failed
}
