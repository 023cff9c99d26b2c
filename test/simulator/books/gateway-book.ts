import { shortest, windows, type Window } from '../../../shared/windows.ts'
import { numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import type { Purse } from '../../../gateway/front/limits/purse.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'

type Counted = { number: number; counted: number }

/** When an answer was asked for, when it came, and when the store had lost writes last. */
type Times = Readonly<{ askedAtMs: number; nowMs: number; lostAtMs: number }>
type Counts = Readonly<{ generation: number; counts: Counted[]; times: Times }>

type Totals = Pick<Purse, 'bought' | 'spent'>

/** What a gateway has learnt from the store. */
export class GatewayBook {
  /** By quota. */
  readonly #known = new Map<string, Counts>()
  readonly #purses = new Map<string, Totals>()

  learn(quota: string, seen: Counters, times: Times): void {
    const before = this.#known.get(quota)
    if (before && before.generation > seen.generation) return
    const counts: Counted[] = windows.map((window) => ({ ...countIn(seen, window) }))
    // A clock was set back: counters of an earlier minute are taken for earlier ones.
    const isEarlier = numberOf(seen, shortest) < (before?.counts[shortest.index]?.number ?? 0)
    if (isEarlier && before?.generation === seen.generation) return
    const isUnsure = before !== undefined && mayTellLess(times, before.times)
    if (isUnsure) for (const count of [...counts, ...(before?.counts ?? [])]) count.counted = 0
    const isNewer = !before || before.generation < seen.generation
    const merged = counts.map((count, i) => (isNewer ? count : later(before.counts[i], count)))
    this.#known.set(quota, { generation: seen.generation, counts: merged, times })
  }

  /** What a gateway has learnt of a purse: both totals only grow. */
  learnPurse(quota: string, { bought, spent }: Purse): void {
    const before = this.#purses.get(quota) ?? { bought: 0, spent: 0 }
    this.#purses.set(quota, {
      bought: Math.max(before.bought, bought),
      spent: Math.max(before.spent, spent),
    })
  }

  purseOf(quota: string): Totals {
    return this.#purses.get(quota) ?? { bought: 0, spent: 0 }
  }

  /** The points that a window had counted by the answers to this gateway, if counters are of the same window. */
  knownOf(quota: string, counters: Counters, window: Window): number {
    const known = this.#known.get(quota)
    const count = known?.counts[window.index]
    if (known?.generation !== counters.generation) return 0
    return count && count.number === numberOf(counters, window) ? count.counted : 0
  }

  /** Whether answers to this gateway have told of a later reset than counters know. */
  knowsLater(quota: string, { generation }: Counters): boolean {
    return (this.#known.get(quota)?.generation ?? 0) > generation
  }
}

/**
 * Whether an answer may tell less than one before it: the store has lost writes, and its question left before the gateway
 * knew of them.
 */
function mayTellLess({ askedAtMs, lostAtMs }: Times, before: Times): boolean {
  return askedAtMs <= lostAtMs || (askedAtMs <= before.nowMs && before.askedAtMs <= lostAtMs)
}

function later(one: Counted | undefined, other: Counted): Counted {
  if (!one || other.number > one.number) return other
  if (other.number < one.number) return one
  return { ...one, counted: Math.max(one.counted, other.counted) }
}
