import { withCommas } from '../../../../shared/commas.ts'
import { windows, type ByName, type Window } from '../../../../shared/windows.ts'
import type { LeftOut } from './logged-request.ts'
import { noOutcomes, type Outcomes, type Replay } from './replay.ts'
import type { Simulation } from './simulation.ts'
import { windowMs } from './by-time.ts'

/** The outcomes of a plan's or a key's requests. */
export type OutcomesView = Readonly<{
  admitted: number
  /** By window: the required ones, and those that are limited. */
  refused: Readonly<ByName<number> & { ban: number; forbidden: number }>
  bans: number
  firstRefusal: string | null
}>

/** In both files; `against` is `null` without another file. */
type Sides = Readonly<{ config: OutcomesView; against: OutcomesView | null }>

/** How far a file's decisions agree with those of the log; `null` for a log without decisions. */
export type AgreementView = Readonly<{
  of: number
  same: number
  first: Readonly<{ key: string; at: string; logged: string; replayed: string }> | null
}> | null

export type SimulationView = Readonly<{
  lines: number
  requests: number
  /** Lines that are no part of it, and requests of keys without a plan. */
  leftOut: Readonly<Record<LeftOut | 'planless', number>>
  from: string | null
  to: string | null
  agrees: Readonly<{ config: AgreementView; against: AgreementView }>
  plans: readonly (Sides & Readonly<{ plan: string }>)[]
  /** The number of all keys, of those that one of the files refuses, and of these the first ones. */
  allKeys: number
  refusedKeys: number
  keys: readonly (Sides &
    Readonly<{ key: string; name: string | null; account: string | null; plan: string }>)[]
  unsaid: readonly string[]
}>

/** A simulation for programs, with at most `limit` keys: those with the most refusals first. */
export function simulationView(simulation: Simulation, limit: number): SimulationView {
  const { counts, requests, planless, fromMs, toMs, keys, replay, against } = simulation
  const { lines, ...leftOut } = counts
  const shown = shownWindows(against ? [replay, against] : [replay])
  const refused = [...keys.keys()]
    .map((id) => ({ id, count: refusalsOf(replay, id) + (against ? refusalsOf(against, id) : 0) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1))
  const sides = (outcomesOf: (replay: Replay) => Outcomes | undefined): Sides => ({
    config: outcomesView(shown, outcomesOf(replay)),
    against: against ? outcomesView(shown, outcomesOf(against)) : null,
  })
  const plans = new Set([...replay.plans.keys(), ...(against?.plans.keys() ?? [])])
  return {
    lines,
    requests,
    leftOut: { ...leftOut, planless },
    from: requests > 0 ? iso(fromMs) : null,
    to: requests > 0 ? iso(toMs) : null,
    agrees: { config: agreementView(replay), against: against ? agreementView(against) : null },
    plans: [...plans]
      .sort()
      .map((plan) => ({ plan, ...sides((replay) => replay.plans.get(plan)) })),
    allKeys: keys.size,
    refusedKeys: refused.length,
    keys: refused.slice(0, limit).map(({ id }) => {
      const { holder, plan = '' } = keys.get(id) ?? {}
      const { name = null, account = null } = holder?.key ?? {}
      return { key: id, name, account, plan, ...sides((replay) => replay.keys.get(id)) }
    }),
    unsaid: unsaid(simulation),
  }
}

function refusalsOf({ keys }: Replay, id: string): number {
  const { ban, forbidden, ...byWindow } = keys.get(id) ?? noOutcomes()
  return windows.reduce((sum, { name }) => sum + byWindow[name], ban + forbidden)
}

/** Keys may have limits of their own in windows that no plan limits. */
function shownWindows(replays: readonly Replay[]): readonly Window[] {
  return windows.filter((window) =>
    replays.some(
      ({ limited, plans }) =>
        limited.includes(window) || [...plans.values()].some((plan) => plan[window.name] > 0),
    ),
  )
}

function outcomesView(shown: readonly Window[], outcomes = noOutcomes()): OutcomesView {
  const { admitted, ban, forbidden, bans, firstRefusalMs } = outcomes
  const firstRefusal = firstRefusalMs === undefined ? null : iso(firstRefusalMs)
  const ofWindows = Object.fromEntries(shown.map(({ name }) => [name, outcomes[name]]))
  const refused = { ...(ofWindows as ByName<number>), ban, forbidden }
  return { admitted, refused, bans, firstRefusal }
}

function agreementView({ agreement: { of, same, first } }: Replay): AgreementView {
  if (of === 0) return null
  if (!first) return { of, same, first: null }
  const { atMs, ...rest } = first
  return { of, same, first: { ...rest, at: iso(atMs) } }
}

/** Sentences about what a replay can't tell, and what it has left out. */
function unsaid({ planless, planlessKeys, late, counts }: Simulation): string[] {
  return [
    'Callers would have behaved otherwise: one that is refused waits, or asks again.',
    'All counters are empty at the first line. Grants, resets, lifts and bans by operators are not repeated.',
    'Each request costs what its route in the file costs, or what the log says where it tells no method and path. ' +
      'Accounts and limits of a key’s own are those that it has today.',
    ...(counts.notJson > 0
      ? [`Left out, because they aren’t JSON: ${withCommas(counts.notJson)} lines.`]
      : []),
    ...(counts.undecided > 0
      ? [
          `Left out, because their limits were not looked at: ${withCommas(counts.undecided)} requests.`,
        ]
      : []),
    ...(planless > 0
      ? [
          `Left out: ${withCommas(planless)} requests of ${withCommas(planlessKeys)} keys without a plan. ` +
            'Name one with --plan.',
        ]
      : []),
    ...(late > 0
      ? [
          `Not in the order of their time: ${withCommas(late)} requests, by more than ${windowMs / 1_000} s or ` +
            'among very many. Each counts at the time of those around it.',
        ]
      : []),
  ]
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
