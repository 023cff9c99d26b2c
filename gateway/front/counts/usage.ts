import { breathe } from '../../../shared/breathe.ts'
import { entryOf } from '../../../shared/entry-of.ts'
import { statusByCode } from '../../../shared/refusal.ts'
import { namedKeys } from '../keys/names.ts'
import { dayMs, isWindowName, requiredWindows, type ByName } from '../../../shared/windows.ts'
import type { KeyStore } from '../keys/store.ts'
import type { TallyStore } from './tally-store.ts'
import { classOfStatus, isRareFigure, type pointTallies, type RareFigure } from './use.ts'

/** The usage of a key on one day, or of several days together. */
export type Usage = Readonly<{
  key: string
  name: string
  /** Whether it is a test key. */
  test?: true
  /** Such as `2030-12-05`; left out for a sum of several days. */
  day?: string
  admitted: number
  /** The points that its admitted requests have cost, without those that were given back. */
  points: number
  /**
   * The points that requests were admitted with whose answers tell the cost: `points` has what they have cost. Left out if
   * there are none.
   */
  estimated?: number
  /** The points beyond what is included, as the gateways have seen them that admitted the requests. Left out if there are none. */
  beyond?: number
  /** By reason: the code of the refusal. */
  refused: Readonly<Record<string, number>>
  /** The refusals by a limit, by the window that was used up; of an optional window only if there are any. */
  windows: Readonly<ByName<number>>
  /** By class of status, such as `2xx`, refusals included. */
  answers: Readonly<Record<string, number>>
}>

type Summed = {
  key: string
  day: number
  admitted: number
  points: number
  rare: Partial<Record<RareFigure, number>>
  refused: Record<string, number>
  windows: ByName<number>
  answers: Record<string, number>
}

/** The range of the latest days, today included; days count from 1970 in UTC. */
export function latestDays(count: number, nowMs: number): { fromDay: number; toDay: number } {
  const toDay = Math.floor(nowMs / dayMs)
  return { fromDay: toDay - count + 1, toDay }
}

/** The kinds of tallies of usage. `more` and `less` are points beside one for each admitted request. */
export type UsageKind = 'admitted' | 'refused' | keyof typeof pointTallies

/** The kind of a tally of usage; `undefined` for another one. */
export function usageKind(what: string): UsageKind | undefined {
  const [kind, which] = what.split(' ', 2)
  if (kind === 'admitted' || kind === 'refused' || isRareFigure(kind)) return kind
  return kind === 'points' ? (which === 'less' ? 'less' : 'more') : undefined
}

const noRefusals = Object.fromEntries(
  requiredWindows.map(({ name }) => [name, 0]),
) as ByName<number>

/** The usage in some days: of one key by day; otherwise of each key in all, the most used first. */
export async function usage(
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>,
  { fromDay, toDay, key }: Readonly<{ fromDay: number; toDay: number; key?: string | undefined }>,
): Promise<Usage[]> {
  const sumsByName = new Map<string, Summed>()
  for await (const tally of stores.tallies.list(fromDay, toDay, key === undefined ? key : [key])) {
    const [kind, what = '', window] = tally.what.split(' ', 3)
    const isRare = isRareFigure(kind)
    if (kind !== 'admitted' && kind !== 'refused' && kind !== 'points' && !isRare) continue
    const day = key === undefined ? 0 : tally.day
    const name = key === undefined ? tally.key : String(day)
    const sum = entryOf(sumsByName, name, (): Summed => {
      const counts = { rare: {}, refused: {}, windows: { ...noRefusals }, answers: {} }
      return { key: tally.key, day, admitted: 0, points: 0, ...counts }
    })
    if (isRare) {
      sum.rare[kind] = (sum.rare[kind] ?? 0) + tally.count
      continue
    }
    if (kind === 'points') {
      sum.points += what === 'less' ? -tally.count : tally.count
      continue
    }
    if (kind === 'admitted') {
      sum.admitted += tally.count
      sum.points += tally.count
    } else sum.refused[what] = (sum.refused[what] ?? 0) + tally.count
    if (isWindowName(window)) sum.windows[window] = (sum.windows[window] ?? 0) + tally.count
    const answer = kind === 'admitted' ? what : classOf(what)
    sum.answers[answer] = (sum.answers[answer] ?? 0) + tally.count
  }
  const sums = [...sumsByName.values()].sort(
    (a, b) => a.day - b.day || b.admitted - a.admitted || (a.key < b.key ? -1 : 1),
  )
  const keys = await namedKeys(
    stores.keys,
    sums.map(({ key }) => key),
  )
  const usages: Usage[] = []
  for (const { key: of, day, admitted, points, rare, ...others } of sums) {
    const { name = '', test } = keys.get(of) ?? {}
    const counts = { admitted, points, ...rare, ...others }
    const usage = { key: of, name, ...(test && { test }), ...counts }
    const count = usages.push(key === undefined ? usage : { ...usage, day: dayText(day) })
    if (count % 1_000 === 0) await breathe()
  }
  return usages
}

/** The requests of a key on one day. */
export type DayCounts = Readonly<{ admitted: number; refused: number }>

/** The requests on a day of some keys, or of all, by the keys' ids. A key without any has none. */
export async function countsOn(
  tallies: TallyStore,
  day: number,
  keys?: readonly string[],
): Promise<ReadonlyMap<string, DayCounts>> {
  const counts = new Map<string, { admitted: number; refused: number }>()
  for await (const { key, what, count } of tallies.list(day, day, keys)) {
    const kind = usageKind(what)
    if (kind !== 'admitted' && kind !== 'refused') continue
    entryOf(counts, key, () => ({ admitted: 0, refused: 0 }))[kind] += count
  }
  return counts
}

const statuses: ReadonlyMap<string, number> = new Map(Object.entries(statusByCode))

/** The class of a refusal's status. */
function classOf(code: string): string {
  return classOfStatus(statuses.get(code) ?? 500)
}

/** A day since 1970 as a text, such as `2030-12-05`. */
export function dayText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}
