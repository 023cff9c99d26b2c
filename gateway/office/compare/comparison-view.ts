import { mostFailures, type MirrorOptions } from './mirror.ts'
import type { Ending, ProcessCounts } from './mirrors.ts'
import { routeViews, type RouteView } from './route-views.ts'
import { withCommas } from '../../../shared/commas.ts'

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

const endings: Readonly<Record<Exclude<Ending, 'time' | 'failures'>, string>> = {
  reload: 'the configuration has changed',
  left: 'nobody waits for it any more',
  stop: 'the gateway stops',
  place: 'the store has given its place to another comparison',
}

/** The sentences about what was compared, and what would break. */
function verdict(
  url: string,
  upstream: string,
  routes: readonly RouteView[],
  ended: Ending | undefined,
): string[] {
  const asked = routes.filter(({ compared }) => compared > 0)
  const broken = asked.filter(({ compared, same }) => same < compared)
  const all = routes.reduce((sum, { compared }) => sum + compared, 0)
  const differ = broken.reduce((sum, { compared, same }) => sum + compared - same, 0)
  if (all === 0 && ended === undefined) return [`No request was compared with ${url} yet.`]
  if (all === 0) return ['Nothing was compared: no GET or HEAD request was in the sample.']
  const unasked =
    asked.length < routes.length
      ? [
          `Nothing was compared on ${routes.length - asked.length} of ${counted(routes.length, 'route')}.`,
        ]
      : []
  if (broken.length > 0) {
    const routesAsked = counted(routes.length, 'route')
    const requests = `${counted(differ, 'request')} of ${withCommas(all)}`
    return [
      `${url} would break ${broken.length} of ${routesAsked}: ${requests} would be answered otherwise.`,
      ...unasked,
    ]
  }
  const requests = `${counted(all, 'request')} on ${counted(asked.length, 'route')}`
  if (ended !== 'time') return [`Nothing breaks so far: ${requests}.`, ...unasked]
  return [`${url} can serve the upstream ${upstream}: ${requests}, nothing breaks.`, ...unasked]
}

/** Why it has ended before its time, in a sentence. */
function endingText(ended: Exclude<Ending, 'time'>, failure: string | undefined): string {
  if (ended !== 'failures') return `It ended early: ${endings[ended]}.`
  return `It ended early: ${mostFailures} requests in a row failed${failure === undefined ? '' : `, the last one with: ${failure}`}.`
}

function counted(number: number, what: string): string {
  return `${withCommas(number)} ${what}${number === 1 ? '' : 's'}`
}
