import type { ProcessCounts } from './mirrors.ts'
import { mostExamples, RouteTally, timesView, type CountedBreak } from './route-counts.ts'

export type RouteView = ReturnType<typeof routeViews>[number]

/** The counts of each route, as programs are told of them. */
export function routeViews(paths: readonly string[], processes: readonly ProcessCounts[]) {
  const tallies = new Map(paths.map((path) => [path, new RouteTally()]))
  for (const counts of processes.flatMap(({ routes }) => routes))
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
