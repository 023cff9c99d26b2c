import {
  adjust,
  newCounters,
  roll,
  setMonthFrom,
  usedIn,
  type Adjustment,
  type Counters,
} from './counters.ts'
import { countsBrief, type Limits } from './limits.ts'
import type { LimitName, Window } from '../../../shared/windows.ts'
import { addReport, takeLarger } from './recount.ts'

/** A part of a quota with limits of its own, which counts beside it: an operation of a plan, or the cap of a key. */
export type Part = Readonly<{
  /** Its name among the parts of the quota: `op:exports`, or `cap:`, the id of a key and the time since which it has the cap. */
  name: string
  /** The name of the operation; `undefined` for a cap. */
  operation: string | undefined
  limits: Limits
}>

/** A part, and its counters after a decision. */
export type PartState = Readonly<{
  part: Part
  counters: Counters
  /** Points that count as used beside the counters, by the names of limits: the shares of other gateways during an outage. */
  elsewhere?: Readonly<Partial<Record<LimitName, number>>> | undefined
}>

/** Counters of parts, by their names. */
export type PartCounters = ReadonlyMap<string, Counters>

/** The parts of a quota that were counted in windows that run; some others, until a month begins. */
export type Parts = Map<string, Counters>

/** The points of a window that a part counts as used. */
export function usedByPart({ counters, elsewhere }: PartState, window: Window): number {
  return usedIn(counters, window) + (elsewhere?.[window.limit] ?? 0)
}

export function operationPart(name: string, limits: Limits): Part {
  return Object.freeze({ name: `op:${name}`, operation: name, limits })
}

/** A cap that was set anew, or in another account, counts from 0 on: it has another name. */
export function capPart(key: string, sinceMs: number, limits: Limits): Part {
  return Object.freeze({ name: `cap:${key}.${sinceMs}`, operation: undefined, limits })
}

/** The counters of a part as they are now: those of the quota's, or new ones, which the quota doesn't have yet. */
export function partAt(
  { parts, monthFrom }: Readonly<{ parts?: Parts | undefined; monthFrom: number }>,
  { name, limits }: Part,
  nowMs: number,
): Counters {
  const counters = parts?.get(name) ?? { ...newCounters(), monthFrom }
  setMonthFrom(counters, monthFrom, nowMs)
  roll(counters, nowMs, countsBrief(limits))
  return counters
}

/** Takes the larger counts that a gateway has seen; a store may have lost writes. */
export function healParts(states: readonly PartState[], seen: PartCounters | undefined): void {
  for (const { part, counters } of states) {
    const other = seen?.get(part.name)
    if (other) takeLarger(counters, other)
  }
}

/** Adds the points of a report to the parts of a quota. */
export function settleParts(
  state: { parts?: Parts | undefined; monthFrom: number },
  reports: PartCounters | undefined,
  nowMs: number,
): void {
  for (const [name, report] of reports ?? []) {
    addReport(runningPart(state, name, report, nowMs), report)
  }
}

/** Adjusts the parts that an admission was counted in. */
export function adjustParts(
  state: { parts?: Parts | undefined; monthFrom: number },
  adjustment: Adjustment,
  {
    parts: admitted,
    seenParts,
    nowMs,
  }: Readonly<{
    parts: PartCounters | undefined
    seenParts: PartCounters | undefined
    nowMs: number
  }>,
): void {
  for (const [name, admission] of admitted ?? []) {
    const counters = runningPart(state, name, admission, nowMs)
    const seen = seenParts?.get(name)
    if (seen) takeLarger(counters, seen)
    adjust(counters, adjustment, admission)
  }
}

/** The counters of a part, which begin if it has none, with the brief windows of others. */
export function runningPart(
  state: { parts?: Parts | undefined; monthFrom: number },
  name: string,
  others: Counters,
  nowMs: number,
): Counters {
  const parts = (state.parts ??= new Map<string, Counters>())
  const counters = parts.get(name) ?? { ...newCounters(), monthFrom: state.monthFrom }
  setMonthFrom(counters, state.monthFrom, nowMs)
  roll(counters, nowMs, counters.marks.length < others.marks.length)
  parts.set(name, counters)
  return counters
}

/** The counters of parts after a decision, by their names. */
export function countersByPart(states: readonly PartState[] | undefined): PartCounters | undefined {
  return states && new Map(states.map(({ part, counters }) => [part.name, counters]))
}
