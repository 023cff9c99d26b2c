import { metricBounds, within } from '../../front/counts/histogram.ts'
import { byTrouble, requestsOf, type RouteFigures } from '../../front/counts/latest-by-route.ts'
import { byConfiguration } from '../../front/fleet/in-force.ts'
import { keptMinutes, keptSeconds } from '../../front/counts/live-sums.ts'
import type { SumsView } from '../../front/counts/sum-rows.ts'
import type {
  FailureFigures,
  Figures,
  RefusedKeyFigures,
  LatestRefusal,
  TargetFigures,
} from './figures.ts'

/** The most refused keys, routes, and causes of failures, of a snapshot. */
const mostKeys = 20
const mostCauses = 20
const mostRoutes = 20

/** The ranges of a snapshot's rows: the seconds of a row, and their number. */
export const ranges = {
  '15m': { step: 5, rows: keptSeconds / 5 },
  day: { step: 60, rows: keptMinutes },
} as const

export type LiveRange = keyof typeof ranges

/** The sums of 5 seconds or of a minute; `at` is its beginning, in Unix seconds. */
export type LiveRow = Readonly<{ at: number }> & SumsView

/** The live figures of a fleet, as programs get them. */
export type Snapshot = Readonly<ReturnType<typeof presentOf>> &
  Readonly<{
    time: string
    gateways: Readonly<{ asked: number; told: number; names: readonly string[] }>
    lastMinute: SumsView
    /** The newest at the end. */
    refusals: readonly LatestRefusal[]
    /** The number of those that were left out, because there were too many at a time. */
    refusalsLeftOut: number
    range: Readonly<{
      name: LiveRange
      step: number
      /** The time since which no gateway’s figures are missing. */
      since: string
      sums: SumsView
      rows: readonly LiveRow[]
    }> | null
  }>

/** The present, by the gateways that have answered. */
export function presentOf(all: readonly Figures[]) {
  const without = all.filter(({ isReachable }) => !isReachable).map(({ name }) => name)
  return {
    store: { reachable: without.length === 0, without: without.sort() },
    configs: configsOf(all),
    targets: targetsOf(all),
    /** The upstreams without a healthy target at some gateway. */
    incidents: incidentsOf(all),
    /** Of the last 15 minutes. */
    routes: routesOf(all),
    /** Of the last 15 minutes, by cause. */
    failures: failuresOf(all),
    refusedKeys: keysOf(all),
  }
}

/** The configurations in force, with their gateways and the mistakes of files that these refuse. */
function configsOf(all: readonly Figures[]) {
  const groups = byConfiguration(all).sort((a, b) => (a.hash < b.hash ? -1 : 1))
  return groups.map(({ hash, members }) => {
    const refusals = members.flatMap(({ name, config }) =>
      typeof config?.refuses === 'string' ? { gateway: name, mistake: config.refuses } : [],
    )
    return { hash, gateways: members.map(({ name }) => name), refusals }
  })
}

/** Each target, and the gateways that see it unhealthy. */
function targetsOf(all: readonly Figures[]) {
  const byTarget = new Map<string, { upstream: string; target: string; unhealthyAt: string[] }>()
  for (const { name, targets } of all) {
    for (const { upstream, target, healthy } of targets) {
      const key = `${upstream} ${target}`
      const entry = byTarget.get(key) ?? { upstream, target, unhealthyAt: [] }
      if (!healthy) entry.unhealthyAt.push(name)
      byTarget.set(key, entry)
    }
  }
  return [...byTarget.values()].map((each) => ({ ...each, healthy: each.unhealthyAt.length === 0 }))
}

/** Each upstream that has no healthy target at some gateway: since when at the first of them, and why. */
function incidentsOf(all: readonly Figures[]) {
  const first = new Map<string, TargetFigures>()
  for (const { targets } of all) {
    for (const [upstream, those] of Map.groupBy(targets, ({ upstream }) => upstream)) {
      const [latest] = those.toSorted((a, b) => b.sinceMs - a.sinceMs)
      if (!latest || those.some(({ healthy }) => healthy)) continue
      const { sinceMs = Infinity } = first.get(upstream) ?? {}
      if (latest.sinceMs < sinceMs) first.set(upstream, latest)
    }
  }
  return [...first.values()].map(({ upstream, sinceMs, cause }) => {
    return { upstream, since: new Date(sinceMs).toISOString(), cause }
  })
}

/** The keys that were refused most, by all gateways together. */
function keysOf(all: readonly Figures[]): RefusedKeyFigures[] {
  const byKey = new Map<string, RefusedKeyFigures>()
  for (const refusedKey of all.flatMap(({ refusedKeys }) => refusedKeys)) {
    const name = `${refusedKey.window} ${refusedKey.key}`
    byKey.set(name, { ...refusedKey, count: refusedKey.count + (byKey.get(name)?.count ?? 0) })
  }
  return [...byKey.values()].sort((a, b) => b.count - a.count).slice(0, mostKeys)
}

/** The failures of all gateways together, each cause once. */
function failuresOf(all: readonly Figures[]): FailureFigures[] {
  const byCause = new Map<string, FailureFigures>()
  for (const failure of all.flatMap(({ failures }) => failures)) {
    const name = [failure.upstream, failure.reason, failure.status].join(' ')
    const sum = byCause.get(name)
    const newest = sum && sum.last > failure.last ? sum : failure
    byCause.set(name, { ...newest, count: failure.count + (sum?.count ?? 0) })
  }
  return [...byCause.values()].sort((a, b) => b.count - a.count).slice(0, mostCauses)
}

/** The requests of each route at all gateways together, those with the most failures first. */
function routesOf(all: readonly Figures[]) {
  const byRoute = new Map<string, RouteFigures>()
  for (const { route, refused, failed, times } of all.flatMap(({ routes }) => routes)) {
    const sum = byRoute.get(route)
    byRoute.set(route, {
      route,
      refused: refused + (sum?.refused ?? 0),
      failed: failed + (sum?.failed ?? 0),
      times: times.map((count, bucket) => count + (sum?.times[bucket] ?? 0)),
    })
  }
  return [...byRoute.values()].sort(byTrouble).slice(0, mostRoutes).map(routeView)
}

function routeView({ route, refused, failed, times }: RouteFigures) {
  const p = (share: number): number => within(metricBounds, times, share) ?? 0
  return { route, requests: requestsOf({ times }), refused, failed, p50: p(0.5), p99: p(0.99) }
}
