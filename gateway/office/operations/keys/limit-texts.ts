import { withCommas } from '../../../../shared/commas.ts'
import { windows, type Window } from '../../../../shared/windows.ts'
import {
  atOnceInWords,
  limitInWords,
  meteredInWords,
  prepaidInWords,
  type LimitSettings,
} from '../../../front/limits/limit-settings.ts'
import type { KeyStanding } from '../key-standing.ts'

/** A key's own limits, such as `60 a minute, 1,000 a day`; empty without any. */
export function ownLimitsText(own: LimitSettings | null | undefined): string {
  const ofWindows = windows.flatMap(({ limit, each }) => {
    const setting = own?.[limit]
    return setting === undefined ? [] : [`${limitInWords(setting)} ${each}`]
  })
  const { atOnce } = own ?? {}
  return [...ofWindows, ...(atOnce === undefined ? [] : [atOnceInWords(atOnce)])].join(', ')
}

/** The limits in force, such as `60 a minute and unlimited a day`. */
export function standingLimitsText(standing: KeyStanding): string {
  return windows
    .filter(({ name }) => standing[name] !== undefined)
    .map(({ name, each }) => `${boundInWords(standing[name])} ${each}`)
    .concat(standing.atOnce ? [atOnceInWords(standing.atOnce.limit)] : [])
    .join(' and ')
}

/** The limit of a window, such as `300` or `300 included, metered up to 900`. */
export function boundInWords(
  window:
    Readonly<{ limit: number | null; included?: number; prepaid?: object }> | null | undefined,
): string {
  const { limit = null, included, prepaid } = window ?? {}
  if (included !== undefined && prepaid) return prepaidInWords(included)
  if (included !== undefined) return meteredInWords(included, limit)
  return limit === null ? 'unlimited' : withCommas(limit)
}

/** Warnings of windows that allow more than a longer one. The configuration warns of such plans too. */
export function uselessLimits(standing: KeyStanding): string[] {
  return windows.flatMap((window, i) => {
    const limit = limitOf(standing, window)
    const longer = windows.slice(i + 1).find((each) => {
      const isTold = limit < Infinity || (window.isRequired && each.isRequired)
      return isTold && limit > limitOf(standing, each)
    })
    if (!longer) return []
    const word = limit === Infinity ? 'unlimited' : withCommas(limit)
    return [
      `Its limit per ${window.name} (${word}) is never reached: its limit per ${longer.name} is ${withCommas(limitOf(standing, longer))}.`,
    ]
  })
}

function limitOf(standing: KeyStanding, { name }: Window): number {
  const { limit, prepaid } = standing[name] ?? {}
  return prepaid ? Infinity : (limit ?? Infinity)
}
