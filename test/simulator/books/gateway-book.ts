import { shortest, windows, type Window } from '../../../shared/windows.ts'
import { numberOf, type Counters } from '../../../gateway/front/limits/counters.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'

type Counted = { number: number; counted: number }
type Counts = Readonly<{ generation: number; counts: Counted[] }>

/** What a gateway has learnt from the store. */
export class GatewayBook {
  /** By quota. */
  readonly #known = new Map<string, Counts>()

  /** One that was asked before the store lost writes, and answered afterwards, may tell less than what was known. */
  learn(quota: string, seen: Counters, isUnsure: boolean): void {
    const before = this.#known.get(quota)
    if (before && before.generation > seen.generation) return
    const counts: Counted[] = windows.map((window) => ({ ...countIn(seen, window) }))
    // A clock was set back: counters of an earlier minute are taken for earlier ones.
    const isEarlier = numberOf(seen, shortest) < (before?.counts[shortest.index]?.number ?? 0)
    if (isEarlier && before?.generation === seen.generation) return
    if (isUnsure) for (const count of [...counts, ...(before?.counts ?? [])]) count.counted = 0
    const isNewer = !before || before.generation < seen.generation
    const merged = counts.map((count, i) => (isNewer ? count : later(before.counts[i], count)))
    this.#known.set(quota, { generation: seen.generation, counts: merged })
  }

  /** The answer to an adjustment says something new only of a quota for which the gateway has asked. */
  learnFromAdjustment(quota: string, present: Counters, isUnsure: boolean): void {
    if (this.#known.has(quota)) this.learn(quota, present, isUnsure)
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

function later(one: Counted | undefined, other: Counted): Counted {
  if (!one || other.number > one.number) return other
  if (other.number < one.number) return one
  return { ...one, counted: Math.max(one.counted, other.counted) }
}
