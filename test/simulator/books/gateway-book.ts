import { dayWindow, shortest, windows, type Window } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import type { PartCounters } from '../../../gateway/front/limits/parts.ts'
import type { Owed } from '../../../gateway/front/limits/quota-state.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'
import type { Decision } from '../../../gateway/front/limits/step.ts'
import type { Message } from '../messages.ts'

type Counted = { number: number; counted: number }
type Counts = Readonly<{ generation: number; counts: Counted[] }>

/**
 * What a gateway has learnt from the store, and what it has to tell it: the points that it has let in alone, and what its
 * requests have cost beside what they were admitted with. In the end the store has heard all of it, once.
 */
export class GatewayBook {
  /** By quota. */
  readonly #known = new Map<string, Counts>()
  /** By quota or part, and day: the points that the store hasn't heard of. */
  readonly #untold = new Map<string, number>()

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

  /** Points that the store has to hear of. */
  owe(quota: string, { seen, parts }: Decision, points: number): void {
    this.#add(quota, numberOf(seen, dayWindow), points)
    for (const { part, counters } of parts ?? []) {
      this.#add(`${quota} ${part.name}`, numberOf(counters, dayWindow), points)
    }
  }

  heardReport(quota: string, owed: Owed): void {
    this.#heard(quota, owed, owed.parts, (counters) => usedIn(counters, dayWindow))
  }

  heardAdjustment({ quota, adjustment, admission }: Extract<Message, { kind: 'adjust' }>): void {
    this.#heard(quota, admission.counters, admission.parts, () => adjustment.points)
  }

  /** The first difference; `undefined` if the store has heard all. */
  get difference(): string | undefined {
    for (const [name, points] of this.#untold) {
      if (points !== 0) return `${points} points of ${name} untold`
    }
    this.#untold.clear()
    return undefined
  }

  #heard(
    quota: string,
    counters: Counters,
    parts: PartCounters | undefined,
    pointsOf: (counters: Counters) => number,
  ): void {
    this.#add(quota, numberOf(counters, dayWindow), -pointsOf(counters))
    for (const [name, each] of parts ?? []) {
      this.#add(`${quota} ${name}`, numberOf(each, dayWindow), -pointsOf(each))
    }
  }

  #add(name: string, day: number, points: number): void {
    const key = `${name} ${day}`
    this.#untold.set(key, (this.#untold.get(key) ?? 0) + points)
  }
}

function later(one: Counted | undefined, other: Counted): Counted {
  if (!one || other.number > one.number) return other
  if (other.number < one.number) return one
  return { ...one, counted: Math.max(one.counted, other.counted) }
}
