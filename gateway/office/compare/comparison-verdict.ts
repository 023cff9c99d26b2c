import { withCommas } from '../../../shared/commas.ts'
import { mostFailures } from './mirror.ts'
import type { Ending } from './mirrors.ts'
import type { RouteView } from './route-views.ts'

const endings: Readonly<Record<Exclude<Ending, 'time' | 'failures'>, string>> = {
  reload: 'the configuration has changed',
  left: 'nobody waits for it any more',
  stop: 'the gateway stops',
  place: 'the store has given its place to another comparison',
}

/** The sentences about what was compared, and what would break. */
export function verdict(
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
export function endingText(ended: Exclude<Ending, 'time'>, failure: string | undefined): string {
  if (ended !== 'failures') return `It ended early: ${endings[ended]}.`
  return `It ended early: ${mostFailures} requests in a row failed${failure === undefined ? '' : `, the last one with: ${failure}`}.`
}

function counted(number: number, what: string): string {
  return `${withCommas(number)} ${what}${number === 1 ? '' : 's'}`
}
