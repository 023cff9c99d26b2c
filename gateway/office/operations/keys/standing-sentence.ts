import { withCommas } from '../../../../shared/commas.ts'
import { endText } from '../../../../shared/times.ts'
import { dayWindow, windows } from '../../../../shared/windows.ts'
import type { UsedWindow } from '../key-standing.ts'
import type { KeyDetails } from '../quota-desk.ts'
import { causeText, stateText } from './texts.ts'

/** How a key stands now, in a sentence or two: whether its next request would be let in, and why not. */
export function standingSentence(details: KeyDetails, nowMs: number): string {
  const { name, state, standing, bannedUntil } = details
  const { ban, offered } = standing
  const whose = `“${name}”`
  if (bannedUntil !== undefined) {
    const until = endText(Date.parse(bannedUntil), nowMs)
    return `${whose} is banned until ${until}${ban ? `: ${causeText(ban)}` : ''}.`
  }
  if (state !== 'active' || !offered) return `${whose} is refused: ${stateText(details, nowMs)}.`
  const used = windows.flatMap((window) => {
    const state = standing[window.name]
    const when = window === dayWindow ? 'today' : `this ${window.name}`
    const ofCap = standing.cap?.[window.name]
    return [
      ...(state ? [`${useText(state)} ${when}`] : []),
      ...(ofCap
        ? [
            `${withCommas((ofCap.limit ?? 0) - (ofCap.remaining ?? 0))} of its cap of ${withCommas(ofCap.limit ?? 0)} ${when}`,
          ]
        : []),
    ]
  })
  const usage = used.length > 0 ? ` ${used.join(', ')}.` : ' It has no limits.'
  const resets = windows
    .flatMap(({ name }) => [standing[name], standing.cap?.[name]])
    .flatMap((each) => (each?.remaining === 0 ? [each.reset] : []))
  return resets.length > 0
    ? `${whose} is refused until ${endText(Math.max(...resets) * 1_000, nowMs)}.${usage}`
    : `${whose} is active.${usage}`
}

/** The points used of those that a window includes, and those beyond. */
function useText({ used, limit, included, beyond = 0, prepaid }: UsedWindow): string {
  if (included === undefined) return `${withCommas(used)} of ${withCommas(limit ?? 0)}`
  const more = [
    ...(beyond > 0 ? [`${withCommas(beyond)} beyond`] : []),
    ...(prepaid ? [`${withCommas(prepaid.left)} bought points left`] : []),
  ]
  return `${withCommas(used)} of ${withCommas(included)} included${more.length > 0 ? ` (${more.join(', ')})` : ''}`
}
