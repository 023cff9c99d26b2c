import { longWindows, type Window } from '../../../shared/windows.ts'
import {
  beyondFrom,
  isUpTo,
  upToPattern,
  type LimitSetting,
} from '../../front/limits/limit-settings.ts'
import { Type, type AnySchema } from '../../../shared/schema.ts'
import { durationFrom, instantFrom } from '../../../shared/units.ts'
import type { Settings } from '../config/edit/edit.ts'
import { yaml } from '../config/yaml.ts'
import type { LiveRange } from '../live/snapshot.ts'
import { placeIn } from './keys/place.ts'
import { mostBought } from '../../front/limits/top-ups.ts'
import { rememberedDays } from '../../front/counts/tally-store.ts'
import { keyStates } from '../../front/keys/key.ts'

/** The kind of a parameter: one rule for help, checks, messages and the documentation of the admin API. */
export type Kind<Value> = Readonly<{
  /** The rule in words that fit after "must be". */
  expected: string
  /** Reads the text of an option or of a query's parameter; `undefined` if it breaks the rule. */
  read: (text: string) => Value | undefined
  /** The rule for a member of a body. */
  schema: AnySchema
}>

/** Any text. */
export const anyText: Kind<string> = {
  expected: 'a text',
  read: (text) => text,
  schema: Type.String({ expected: 'a text' }),
}

/** True or false; a query's parameter without a value is true. */
export const yesOrNo: Kind<boolean> = {
  expected: 'true or false',
  read: (text) => (text === '' || text === 'true' ? true : text === 'false' ? false : undefined),
  schema: Type.Boolean({ expected: 'true or false' }),
}

/** The number of days that a report covers. */
export const dayCount = wholeNumber(1, rememberedDays)

/** The number of days of a timeline. */
export const timelineDays = wholeNumber(1, 7)

/** The number of audit lines to list. */
export const lineCount = wholeNumber(1, 10_000)

/** The limit of a key, and the connections by which requests come. */
export const requestCount = wholeNumber(1, 1_000_000)
export const connectionCount = wholeNumber(1, 1_000)

/** The points of a grant. */
export const points = wholeNumber(1, 999_999_999)
export const boughtPoints = wholeNumber(1, mostBought)

/** The day on which the months of a quota begin: one that every month has. */
export const dayOfMonth = wholeNumber(1, 28)

/** The number of keys on a page. */
export const pageSize = wholeNumber(1, 1_000)

/** The most quotas in a list. */
export const quotaCount = wholeNumber(1, 100_000)

/** The place in a list at which a page begins. */
export const pageCursor = ofText('the "next" of a page, as it was given', placeIn)

/** The state of a key. */
export const keyState = oneOf(keyStates)

/** The length of a ban. */
export const banTime = duration('30m or 24h')

/** A range of live figures. */
export const liveRange = oneOf<LiveRange>(['15m', 'day'])

/** The hash of a file, as a command gives it, or as the tag of a request. */
export const entityTag = ofText('the hash of a file, such as 5299f4425792', (text) =>
  text === '' ? undefined : text.replace(/^"(.*)"$/, '$1'),
)

/** How long to wait at most, in milliseconds; without a value, as long as it takes. */
export const waitTime = ofText('a duration such as 30m', (text) =>
  text === '' ? Infinity : durationFrom(text) || undefined,
)

/** How long ago something was. */
export const age = duration('1h or 90d')

/** How long an old token still works, in milliseconds. */
export const overlapTime = ofText('0 or a duration such as 24h', (text) =>
  text === '0' ? 0 : durationFrom(text),
)

/** Milliseconds since 1970 by the present time, from which a duration counts. */
export type TimeAt = (nowMs: number) => number

/** The end of something: a duration counts from now on. */
export const end = ofText(
  'a day such as 2030-12-31, a time with its zone, or a duration from now on such as 1h',
  (text) => timeFrom(text, 1),
)

/** A time in the past: a duration counts back from now. */
export const past = ofText(
  'a day such as 2030-12-31, a time with its zone, or a duration back from now such as 2h',
  (text) => timeFrom(text, -1),
)

function timeFrom(text: string, direction: 1 | -1): TimeAt | undefined {
  const duration = durationFrom(text)
  if (duration) return (nowMs) => nowMs + direction * duration
  const instant = instantFrom(text)
  return instant === undefined ? undefined : () => instant
}

/** The points that a key may use up in a window. */
export const limit: Kind<number | 'unlimited'> = {
  expected: 'a whole number above 0 or "unlimited"',
  read: (text) => {
    if (text === 'unlimited') return text
    return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
  },
  schema: Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('unlimited')], {
    expected: 'a whole number above 0 or "unlimited"',
  }),
}

/** The same of a day and what is longer, whose points may also be metered beyond what is included. */
export const longLimit: Kind<LimitSetting> = {
  expected:
    'a whole number above 0, "unlimited", or points with what lies beyond (1000..300%, 1000..prepaid)',
  read: (text) => (text.includes('..') ? beyondFrom(text) : limit.read(text)),
  schema: Type.Union(
    [
      Type.Integer({ minimum: 1 }),
      Type.Literal('unlimited'),
      Type.Object(
        {
          limit: Type.Integer({ minimum: 1 }),
          beyond: Type.Literal('meter'),
          upTo: Type.Refine(Type.String({ pattern: upToPattern }), isUpTo),
        },
        { additionalProperties: false },
      ),
      Type.Object(
        { limit: Type.Integer({ minimum: 0 }), beyond: Type.Literal('prepaid') },
        { additionalProperties: false },
      ),
    ],
    {
      expected:
        'a whole number above 0, "unlimited", { limit, beyond: "meter", upTo }, or { limit, beyond: "prepaid" }',
    },
  ),
}

/** How the limit of a window is written. */
export function limitKind(window: Window): Kind<LimitSetting> {
  return longWindows.includes(window) ? longLimit : limit
}

/** New values of settings, by their places. */
export const newSettings: Kind<Settings> = {
  expected: 'an object of new values by places, such as { "plans.free.perHour": 400 }',
  read: settingsFrom,
  schema: Type.Record(
    Type.String(),
    {},
    {
      expected: 'an object of new values by places, such as { "plans.free.perHour": 400 }',
      minProperties: 1,
    },
  ),
}

function settingsFrom(text: string): Settings | undefined {
  const document = yaml().parseDocument(text, { prettyErrors: false, logLevel: 'error' })
  if (document.errors.length > 0) return undefined
  const value: unknown = document.toJS()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.keys(value).length === 0 ? undefined : { ...value }
}

/** A kind that is a text in bodies too, and is read in the same way everywhere. */
export function ofText<Value>(
  expected: string,
  read: (text: string) => Value | undefined,
): Kind<Value> {
  const schema = Type.Refine(Type.String({ expected }), (value) => read(value) !== undefined)
  return { expected, read, schema }
}

/** A length of time in milliseconds; `such` is an example. */
export function duration(such: string): Kind<number> {
  return ofText(`a duration such as ${such}`, (text) => durationFrom(text) || undefined)
}

/** One of a few words. */
export function oneOf<const Word extends string>(words: readonly Word[]): Kind<Word> {
  const last = words.at(-1)
  const expected = words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${last}` : `${last}`
  return ofText(expected, (text) => words.find((word) => word === text))
}

function wholeNumber(minimum: number, maximum: number): Kind<number> {
  const expected = `a whole number from ${minimum} to ${maximum}`
  return {
    expected,
    read: (text) => {
      const number = /^\d{1,15}$/.test(text) ? Number(text) : 0
      return number >= minimum && number <= maximum ? number : undefined
    },
    schema: Type.Integer({ minimum, maximum, expected }),
  }
}
