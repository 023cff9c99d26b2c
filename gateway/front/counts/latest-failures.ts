import type { RefusalCode, Reason } from '../../../shared/refusal.ts'
import { firstFailure } from './ended.ts'
import type { KeptRefusal } from './kept-refusal.ts'
import { toldMinutes } from './latest-by-route.ts'

/** The most causes that are kept. All are of our own lists, of the configuration, or statuses. */
const keptCauses = 200

/** Who failed: the gateway, because of itself or because no backend has answered, or a backend that answered 5xx itself. */
export type FailureSide = 'gateway' | 'noBackend' | 'backend'

/** The codes of requests that got no answer of a backend, beside those that found none healthy. */
const backendless: ReadonlySet<string> = new Set(['bad_gateway', 'gateway_timeout'])

/** Who failed a request, by its refusal; without one its backend. */
export function failureSide({
  code,
  reason,
}: Readonly<{ code?: RefusalCode | undefined; reason?: Reason | undefined }>): FailureSide {
  if (code === undefined) return 'backend'
  return reason === 'none_healthy' || backendless.has(code) ? 'noBackend' : 'gateway'
}

/** The failed answers of the last 15 minutes for one cause: their number, and the newest of them. */
export type LatestFailure = Readonly<{ count: number; newest: KeptRefusal }>

type Cause = { newest: KeptRefusal; counts: Map<number, number> }

/** Counts the failed answers of the last 15 minutes by upstream, reason and status. Answers that didn't fail cost nothing. */
export class LatestFailures {
  readonly #causes = new Map<string, Cause>()

  count(answer: KeptRefusal): void {
    const { status, upstream, reason, code, atMs } = answer
    if (status < firstFailure) return
    const name = [upstream, reason ?? code, status].join(' ')
    let cause = this.#causes.get(name)
    if (!cause) {
      const [oldest] = this.#causes.keys()
      if (oldest !== undefined && this.#causes.size === keptCauses) this.#causes.delete(oldest)
      cause = { newest: answer, counts: new Map() }
      this.#causes.set(name, cause)
    }
    cause.newest = answer
    const minute = minuteOf(atMs)
    const { counts } = cause
    counts.set(minute, (counts.get(minute) ?? 0) + 1)
    if (counts.size > toldMinutes) forget(counts, minute)
  }

  /** The causes with the most failures, up to a time. */
  top(most: number, nowMs: number): readonly LatestFailure[] {
    for (const [name, { counts }] of this.#causes) {
      forget(counts, minuteOf(nowMs))
      if (counts.size === 0) this.#causes.delete(name)
    }
    return [...this.#causes.values()]
      .map(({ newest, counts }) => {
        return { newest, count: [...counts.values()].reduce((a, b) => a + b, 0) }
      })
      .sort((a, b) => b.count - a.count)
      .slice(0, most)
  }
}

/** Forgets the minutes that aren't told any more. */
function forget(counts: Map<number, number>, minute: number): void {
  for (const each of counts.keys()) if (each <= minute - toldMinutes) counts.delete(each)
}

function minuteOf(atMs: number): number {
  return Math.floor(atMs / 60_000)
}
