import { endingText, verdict } from './comparison-verdict.ts'
import type { MirrorOptions } from './mirror.ts'
import type { Ending, ProcessCounts } from './mirrors.ts'
import { routeViews } from './route-views.ts'

/** The subject of a comparison, and its length. */
export type ComparisonSettings = Omit<MirrorOptions, 'room' | 'failed'> &
  Readonly<{
    forMs: number
    /** The paths of the routes that lead there, for GET or HEAD. */
    routes: readonly string[]
  }>

/** The state of a comparison, of which its view is made. */
export type ComparisonState = Readonly<{
  settings: ComparisonSettings
  sinceMs: number
  elapsedMs: number
  ended: Ending | undefined
  processes: readonly ProcessCounts[]
  /** The number of gateways and workers of the store. */
  fleet: number
}>

export type ComparisonView = ReturnType<typeof comparisonView>

/** A comparison as programs are told of it. */
export function comparisonView(state: ComparisonState) {
  const { settings, sinceMs, elapsedMs, ended, processes, fleet } = state
  const { url, upstream, share, forMs } = settings
  const routes = routeViews(settings.routes, processes)
  const sum = (count: (each: ProcessCounts) => number): number =>
    processes.reduce((all, each) => all + count(each), 0)
  const compared = routes.reduce((all, each) => all + each.compared, 0)
  const same = routes.reduce((all, each) => all + each.same, 0)
  const counts = { compared, same, busy: sum(({ busy }) => busy), unfit: sum(({ unfit }) => unfit) }
  const failure = processes.find((each) => each.failure !== undefined)?.failure
  return {
    url,
    upstream: upstream.name,
    present: upstream.targets.map((target) => target.url),
    share,
    since: new Date(sinceMs).toISOString(),
    forSeconds: forMs / 1_000,
    seconds: Math.min(forMs, Math.round(elapsedMs)) / 1_000,
    /** Why it is over; `null` while it runs. */
    ended: ended ?? null,
    /** Whether the whole time has passed, something was compared, and nothing would break. */
    fit: ended === 'time' && compared > 0 && same === compared,
    summary: [
      ...verdict(url, upstream.name, routes, ended),
      ...(ended === undefined || ended === 'time' ? [] : [endingText(ended, failure)]),
    ].join(' '),
    /** The gateways or workers whose requests are compared, and the number of all of the store. */
    gateways: [...new Set(processes.map(({ name }) => name))].sort(),
    fleet: Math.max(fleet, processes.length),
    requests: counts,
    routes,
  }
}
