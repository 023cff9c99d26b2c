import { durationFrom, instantFrom } from '../config/units.ts'
import { rememberedDays } from '../records/tally-store.ts'

/**
 * What operators may give for something: as an option of a command, a parameter of the admin API or a member of
 * a body. Help, checks and refusals all go by it.
 */
export type Kind<Value> = Readonly<{
  /** What it may be, in words that go on after "must be". */
  mayBe: string
  /** The value of a text; `undefined` if the text may not be. */
  read: (text: string) => Value | undefined
}>

/** How many days a report looks back. */
export const dayCount = wholeNumber(1, rememberedDays)

/** How many lines of the audit are told. */
export const lineCount = wholeNumber(1, 10_000)

/** As many are told unless somebody asks for more or fewer. */
export const usualLines = 100

/** How long a ban lasts, in milliseconds. */
export const banTime: Kind<number> = {
  mayBe: 'a duration such as 30m or 24h',
  read: (text) => durationFrom(text) || undefined,
}

/** How long an old token goes on, in milliseconds. */
export const overlapTime: Kind<number> = {
  mayBe: '0 or a duration such as 24h',
  read: (text) => (text === '0' ? 0 : durationFrom(text)),
}

/** When something ends, in milliseconds since 1970. */
export const moment: Kind<number> = {
  mayBe: 'a day such as 2030-12-31, or a time with its zone',
  read: instantFrom,
}

/** How much a key may ask in a window of time. */
export const limit: Kind<number | 'unlimited'> = {
  mayBe: 'a whole number above 0 or "unlimited"',
  read: (text) => {
    if (text === 'unlimited') return text
    return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
  },
}

function wholeNumber(least: number, most: number): Kind<number> {
  return {
    mayBe: `a whole number from ${least} to ${most}`,
    read: (text) => {
      const number = /^\d{1,9}$/.test(text) ? Number(text) : 0
      return number >= least && number <= most ? number : undefined
    },
  }
}
