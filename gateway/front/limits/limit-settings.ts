import { Type, type Static } from '../../../shared/schema.ts'
import { durationFrom } from '../../../shared/units.ts'
import { withCommas } from '../../../shared/commas.ts'
import { byLimit, limitNames } from '../../../shared/windows.ts'
import type { Included } from './beyond.ts'
import type { Limits } from './limits.ts'

/** The form of `upTo`. */
export const upToPattern = '^(?:\\d{1,7}(?:\\.\\d{1,3})?%|unlimited)$'

const points = Type.Integer({ minimum: 1 })

/** Points that are included in a window, and how far one may go beyond: a share of them above 100 %, or `unlimited`. */
const metered = Type.Object({
  limit: points,
  beyond: Type.Literal('meter'),
  upTo: Type.String({ pattern: upToPattern }),
})

/** Points that are included in a window; beyond them, those that were bought in advance are taken. */
const prepaid = Type.Object({
  limit: Type.Integer({ minimum: 0 }),
  beyond: Type.Literal('prepaid'),
})

const limit = Type.Union([points, Type.Literal('unlimited'), metered, prepaid])

/** How many requests may be under way at once. */
const atOnce = Type.Union([
  points,
  Type.Literal('unlimited'),
  Type.Object({ limit: points, linger: Type.Optional(Type.String()) }),
])

/** A key's own limits, which replace those of its plan; as operators write them. */
export const limitsSchema = Type.Object({
  ...byLimit(() => Type.Optional(limit)),
  atOnce: Type.Optional(atOnce),
})

export type LimitSettings = Readonly<Static<typeof limitsSchema>>
export type LimitSetting = Static<typeof limit>
export type AtOnceSetting = Static<typeof atOnce>

/** The names of all limits: those of windows, and that of requests under way. */
export const limitSettings = [...limitNames, 'atOnce'] as const

/** The limits of one, and where it says nothing, those of another. */
export function mergedLimits(one: LimitSettings | undefined, other?: LimitSettings): LimitSettings {
  return Object.fromEntries(limitSettings.map((name) => [name, one?.[name] ?? other?.[name]]))
}

/** How many requests may be under way, in words: 3 at once. */
export function atOnceInWords(setting: AtOnceSetting): string {
  const count = typeof setting === 'object' ? setting.limit : setting
  return `${typeof count === 'number' ? withCommas(count) : count} at once`
}

/** The most that may be limited. */
export const mostAtOnce = 100_000

/** Whether a text says how far one may go beyond: a share above 100 %, or without end. */
export function isUpTo(text: string): boolean {
  if (text === 'unlimited') return true
  return new RegExp(upToPattern).test(text) && Number.parseFloat(text) > 100
}

/** The most that a limit may be: headers tell it as an integer of RFC 9651, which has 15 digits. */
export const mostLimit = 999_999_999_999_999

/** Whether a key has limits of its own. */
export function hasLimits(own: LimitSettings): boolean {
  return limitSettings.some((name) => own[name] !== undefined)
}

/** A limit as operators write it, as a number to count against: that which refuses. */
export function limitFrom(setting: LimitSetting | undefined): number | undefined {
  if (typeof setting !== 'object') return setting === 'unlimited' ? Infinity : setting
  // What was bought is the store's to know.
  if (setting.beyond === 'prepaid' || setting.upTo === 'unlimited') return Infinity
  return Number((BigInt(setting.limit) * thousandthsOf(setting.upTo)) / 100_000n)
}

/** A percentage in thousandths: fractions of numbers would lose a point here and there. */
function thousandthsOf(percentage: string): bigint {
  const [whole = '', fraction = ''] = percentage.replace('%', '').split('.')
  return BigInt(whole + fraction.padEnd(3, '0'))
}

/** The limits beyond which points are metered; `undefined` where none are. */
export function includedFrom(settings: LimitSettings): Included | undefined {
  if (!limitNames.some((name) => typeof settings[name] === 'object')) return undefined
  return byLimit(({ limit }) => {
    const setting = settings[limit]
    return typeof setting === 'object' ? setting.limit : Infinity
  })
}

export function isPrepaid(setting: LimitSetting | undefined): setting is Static<typeof prepaid> {
  return typeof setting === 'object' && setting.beyond === 'prepaid'
}

/** A limit as commands write it, such as `100000..300%` or `100000..prepaid`. */
export function limitText(setting: LimitSetting | AtOnceSetting): string {
  if (typeof setting !== 'object') return String(setting)
  if (!('beyond' in setting)) return String(setting.limit)
  return `${setting.limit}..${isPrepaid(setting) ? setting.beyond : setting.upTo}`
}

/** The same read: a limit behind which may stand how far one may go beyond. `undefined` if it isn't one. */
export function beyondFrom(text: string): Exclude<LimitSetting, number | 'unlimited'> | undefined {
  const [, points = '', upTo = ''] = /^(0|[1-9]\d{0,14})\.\.(.*)$/.exec(text) ?? []
  const limit = Number(points)
  if (upTo === 'prepaid') return { limit, beyond: upTo }
  return limit > 0 && isUpTo(upTo) ? { limit, beyond: 'meter', upTo } : undefined
}

/** The same in words, such as `1,000`, `unlimited` or `300 included, metered up to 900`. */
export function limitInWords(setting: LimitSetting): string {
  if (typeof setting === 'number') return withCommas(setting)
  if (typeof setting === 'string') return setting
  if (isPrepaid(setting)) return prepaidInWords(setting.limit)
  const most = limitFrom(setting)
  return meteredInWords(setting.limit, most === Infinity ? null : most)
}

/** Points that are included, and those that were bought behind them. */
export function prepaidInWords(included: number): string {
  return included === 0
    ? 'what was bought'
    : `${withCommas(included)} included, then what was bought`
}

/** Points that are included, and the last ones that are metered; `null`: without a limit. */
export function meteredInWords(included: number, most: number | null = null): string {
  const bound = most === null ? 'without limit' : `up to ${withCommas(most)}`
  return `${withCommas(included)} included, metered ${bound}`
}

/** Limits as operators write them. */
export function limitsFrom(settings: LimitSettings): Limits {
  const limits = byLimit(({ limit }) => limitFrom(settings[limit]) ?? Infinity)
  return withAtOnce(limits, settings.atOnce)
}

/** Limits of windows, and how many requests may be under way. */
export function withAtOnce(limits: Limits, setting: AtOnceSetting | undefined): Limits {
  if (setting === undefined) return limits
  if (setting === 'unlimited') return { ...limits, atOnce: undefined, lingerMs: undefined }
  if (typeof setting === 'number') return { ...limits, atOnce: setting }
  return { ...limits, atOnce: setting.limit, lingerMs: durationFrom(setting.linger ?? '0s') }
}
