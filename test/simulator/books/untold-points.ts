import { dayWindow, windows } from '../../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../../gateway/front/limits/counters.ts'
import { limitOf, type Limits } from '../../../gateway/front/limits/limits.ts'
import type { PartCounters } from '../../../gateway/front/limits/parts.ts'
import { takenPart } from '../../../gateway/front/limits/purse.ts'
import type { Owed } from '../../../gateway/front/limits/quota-state.ts'
import { countIn } from '../../../gateway/front/limits/recount.ts'
import type { Decision } from '../../../gateway/front/limits/step.ts'
import type { Message } from '../messages.ts'
import { UntoldBought } from './untold-bought.ts'

/**
 * The points that a gateway has let in alone, or that its requests have cost beside what they were admitted with, until the
 * store has heard of them: in the end of all, once, and in no window of more than were in it.
 */
export class UntoldPoints {
  /** By quota or part, by what is included, and by day. */
  readonly #ofDays = new Map<string, number>()
  /** By quota or part and window: those that were counted, without those that came back. */
  readonly #ofWindows = new Map<string, number>()
  readonly #bought = new UntoldBought()
  #tooMany: string | undefined

  /** `bought`: how many of them were bought ones; `undefined` where the gateway finds out later, by its own counters. */
  owe(quota: string, decision: Decision, points: number, bought?: number): void {
    const { seen, parts, purse } = decision
    if (purse) this.#bought.owe(quota, points, bought)
    const included = purse ? undefined : decision.included
    const counters = parts?.map(({ part, counters }) => [part.name, counters] as const)
    for (const [name, each] of named(quota, seen, counters ?? [])) {
      add(this.#ofDays, dayOf(name, each, included), points)
      for (const window of windows) {
        const key = `${name} ${window.name} ${numberOf(each, window)}`
        add(this.#ofWindows, key, Math.max(0, points))
      }
    }
  }

  heardReport(quota: string, owed: Owed): void {
    const { parts = new Map<string, Counters>() } = owed
    const taken = parts.get(takenPart)
    if (taken) this.#bought.hear(quota, countIn(taken, dayWindow))
    const others = [...parts].filter(([name]) => name !== takenPart)
    for (const [name, each] of named(quota, owed, others)) {
      add(this.#ofDays, dayOf(name, each, owed.included), -usedIn(each, dayWindow))
      for (const window of windows) this.#hearOf(name, window.name, countIn(each, window))
    }
  }

  heardAdjustment({ quota, adjustment, admission }: Extract<Message, { kind: 'adjust' }>): void {
    const { points } = adjustment
    const included = admission.purse ? undefined : admission.included
    for (const [name, each] of named(quota, admission.counters, admission.parts ?? [])) {
      add(this.#ofDays, dayOf(name, each, included), -points)
      for (const window of windows) {
        const number = numberOf(each, window)
        this.#hearOf(name, window.name, { number, counted: Math.max(0, points) })
      }
    }
  }

  /** The first difference when everything was told; `undefined` if there is none. */
  get difference(): string | undefined {
    if (this.#tooMany) return this.#tooMany
    for (const [name, points] of this.#ofDays) {
      if (points !== 0) return `${points} points of ${name} untold`
    }
    const { difference } = this.#bought
    if (difference) return difference
    this.#ofDays.clear()
    this.#ofWindows.clear()
    return undefined
  }

  #hearOf(
    name: string,
    window: string,
    { number, counted }: Readonly<{ number: number; counted: number }>,
  ): void {
    const key = `${name} ${window} ${number}`
    add(this.#ofWindows, key, -counted)
    if ((this.#ofWindows.get(key) ?? 0) < 0) this.#tooMany ??= `too many points of ${key} told`
  }
}

/** The counters of a quota and its parts, with their names. */
function named(
  quota: string,
  counters: Counters,
  parts: PartCounters | readonly (readonly [string, Counters])[],
): [name: string, counters: Counters][] {
  const ofParts = [...parts].map(([name, each]): [string, Counters] => [`${quota} ${name}`, each])
  return [[quota, counters], ...ofParts]
}

function dayOf(name: string, counters: Counters, included: Limits | undefined): string {
  const limit = included ? limitOf(included, dayWindow) : Infinity
  return `${name} on ${numberOf(counters, dayWindow)}, ${limit} included`
}

function add(sums: Map<string, number>, name: string, points: number): void {
  sums.set(name, (sums.get(name) ?? 0) + points)
}
