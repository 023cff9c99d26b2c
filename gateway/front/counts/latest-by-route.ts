import { metricBounds } from './histogram.ts'
import type { RouteMeter } from './meters.ts'

/** The minutes that are told, with the one that runs. */
export const toldMinutes = 15

/** The numbers of a route: the buckets of its durations, and behind them what was refused and what failed. */
const refusedAt = metricBounds.length + 1
const failedAt = refusedAt + 1
const numbersOfRoute = failedAt + 1

/** The requests of one route in the last 15 minutes. */
export type RouteFigures = Readonly<{
  route: string
  refused: number
  failed: number
  /** The buckets of all durations, by `metricBounds`. */
  times: number[]
}>

/**
 * Tells the requests of the last 15 minutes by route: what the meters of routes count, less what they had counted when
 * the first of these minutes began. So a request costs nothing more, and the first one of a minute 0.1 ms with 1,000 routes.
 */
export class LatestByRoute {
  /** Routes come to it, and never leave it, so that each keeps its place. */
  readonly #meters: ReadonlyMap<string, RouteMeter>
  /** The numbers of all routes at the beginning of each minute. */
  readonly #beginnings: Uint32Array[] = []
  #minute = -Infinity

  constructor(meters: ReadonlyMap<string, RouteMeter>) {
    this.#meters = meters
  }

  /** Begins the minute of a second, before anything in it is counted. */
  begin(second: number): void {
    const minute = Math.floor(second / 60)
    if (minute <= this.#minute) return
    const numbers = this.#numbers()
    // Minutes without requests began with the same.
    const first = Math.max(this.#minute, minute - toldMinutes) + 1
    for (let each = first; each <= minute; each++) this.#beginnings[each % toldMinutes] = numbers
    this.#minute = minute
  }

  /** The routes with the most failures, of equals those with the most requests, up to a second. */
  top(most: number, second: number): readonly RouteFigures[] {
    this.begin(second)
    const before = this.#beginnings[(this.#minute + 1) % toldMinutes]
    const latest = this.#numbers().map((number, place) => number - (before?.[place] ?? 0))
    return [...this.#meters.keys()]
      .map((route, i) => figuresOf(route, latest.subarray(i * numbersOfRoute)))
      .filter((figures) => requestsOf(figures) > 0)
      .sort(byTrouble)
      .slice(0, most)
  }

  #numbers(): Uint32Array {
    const all = new Uint32Array(this.#meters.size * numbersOfRoute)
    let place = 0
    for (const { durations, refused, failed } of this.#meters.values()) {
      all.set(durations.counts, place)
      all[place + refusedAt] = refused
      all[place + failedAt] = failed
      place += numbersOfRoute
    }
    return all
  }
}

/** The order of routes in lists: those that fail first, then the busiest. */
export function byTrouble(a: RouteFigures, b: RouteFigures): number {
  return b.failed - a.failed || requestsOf(b) - requestsOf(a)
}

export function requestsOf({ times }: Pick<RouteFigures, 'times'>): number {
  return times.reduce((sum, each) => sum + each, 0)
}

function figuresOf(route: string, numbers: Uint32Array): RouteFigures {
  const [refused = 0, failed = 0] = numbers.subarray(refusedAt)
  return { route, refused, failed, times: [...numbers.subarray(0, refusedAt)] }
}
