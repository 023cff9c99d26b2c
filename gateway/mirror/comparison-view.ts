import type { UpstreamSettings } from '../config/config.ts'
import { endingText, verdict } from './comparison-verdict.ts'
import type { EndedBy, ToldCounts } from './mirrors.ts'
import { mostExamples, RouteTally, timesView, type CountedBreak } from './route-counts.ts'

/** The subject of a comparison, and its length. */
export type ComparisonSettings = Readonly<{
  url: string
  upstream: UpstreamSettings
  /** The part of the requests, up to 1. */
  share: number
  forMs: number
  /** The paths of the routes that lead there, for GET or HEAD. */
  routes: readonly string[]
}>

/** Why a comparison has ended: its time is over, or one of the reasons before that. */
export type Ending = EndedBy | 'time' | 'left' | 'stop' | 'place'

/** What a view of a comparison is made of, beside its counts. */
export type ComparisonState = Readonly<{
  settings: ComparisonSettings
  sinceMs: number
  elapsedMs: number
  ended: Ending | undefined
  told: readonly ToldCounts[]
  /** The number of gateways and workers of the store. */
  fleet: number
}>

export type ComparisonView = ReturnType<typeof comparisonView>
export type RouteView = ReturnType<typeof routesOf>[number]

/** A comparison as programs are told of it. */
export function comparisonView(state: ComparisonState) {
  const { settings, sinceMs, elapsedMs, ended, told, fleet } = state
  const { url, upstream, share, forMs } = settings
  const routes = routesOf(state)
  const sum = (count: (each: ToldCounts) => number): number =>
    told.reduce((all, each) => all + count(each), 0)
  const compared = routes.reduce((all, each) => all + each.compared, 0)
  const same = routes.reduce((all, each) => all + each.same, 0)
  const counts = { compared, same, busy: sum(({ busy }) => busy), unfit: sum(({ unfit }) => unfit) }
  const failure = told.find((each) => each.failure !== undefined)?.failure
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
    gateways: [...new Set(told.map(({ name }) => name))].sort(),
    fleet: Math.max(fleet, told.length),
    requests: counts,
    routes,
  }
}

function routesOf({ settings, told }: ComparisonState) {
  const tallies = new Map(settings.routes.map((path) => [path, new RouteTally()]))
  for (const counts of told.flatMap(({ routes }) => routes))
    tallies.get(counts.route)?.merge(counts)
  return [...tallies].map(([route, tally]) => {
    const { compared, same, breaks, before, after } = tally.counts(route)
    const times = { presentMs: timesView(before), wouldBeMs: timesView(after) }
    return { route, compared, same, breaks: exemplified(breaks), ...times }
  })
}

/** The differences, the most frequent first, with at most five examples in all: one of each, then more. */
function exemplified(breaks: readonly CountedBreak[]): CountedBreak[] {
  const sorted = [...breaks].sort((a, b) => b.times - a.times)
  const shares = sorted.map(() => 0)
  let left = mostExamples
  for (let round = 0; round < mostExamples; round++) {
    sorted.forEach(({ examples }, i) => {
      if (left === 0 || examples.length <= round) return
      shares[i] = round + 1
      left--
    })
  }
  return sorted.map((each, i) => ({ ...each, examples: each.examples.slice(0, shares[i]) }))
}
