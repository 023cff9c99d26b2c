import { routePrefix as prefix } from './tally-store.ts'
import { rareFigures } from './use.ts'
import type { UsageKind } from './usage.ts'

/** The names of the tallies of a route, by what they count. */
export type RouteTallies = Readonly<Record<UsageKind, string>>

const kinds: readonly UsageKind[] = ['admitted', 'refused', 'more', 'less', ...rareFigures]

/** The names under which the use of a route is tallied. A route has them made once, not for each request. */
export function routeTallies(path: string): RouteTallies {
  const names = kinds.map((kind) => [kind, `${prefix}${kind} ${path}`])
  return Object.fromEntries(names) as RouteTallies
}

/** The route that a tally is about, and what it counts; `undefined` for a tally of no route. */
export function routeTally(what: string): Readonly<{ path: string; kind: UsageKind }> | undefined {
  if (!what.startsWith(prefix)) return undefined
  const end = what.indexOf(' ', prefix.length)
  const kind = kinds.find((kind) => kind === what.slice(prefix.length, end))
  return kind && { path: what.slice(end + 1), kind }
}
