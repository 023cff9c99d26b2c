import type { LimitName, WindowName } from '../../../../shared/windows.ts'
import { count } from './format.ts'

/** A window in the words of pages. */
export type PageWindow = Readonly<{
  name: WindowName
  limit: LimitName
  /** Behind a number of points: "60 a minute". */
  each: string
  /** The same above a column, or beside a field. */
  heading: string
  /** The one that runs. */
  present: string
  /** The beginning of each in UTC; none where it is plain. */
  begins?: string
  /** Whether it is shown where it isn't limited, too. */
  isRequired?: boolean
}>

/** The server's list isn't part of a page: the type holds this one to it, and a test its order. */
const rows: Readonly<Record<WindowName, Partial<PageWindow> & Pick<PageWindow, 'limit'>>> = {
  second: { limit: 'perSecond' },
  minute: { limit: 'perMinute', begins: 'at second 0', isRequired: true },
  hour: { limit: 'perHour', each: 'an hour', begins: 'at minute 0' },
  day: { limit: 'perDay', present: 'Today', begins: 'at midnight', isRequired: true },
  week: { limit: 'perWeek', begins: 'on Monday' },
  month: { limit: 'perMonth', begins: 'on the first, or on the day that was agreed' },
}

/** All windows, the shortest first. */
export const windows: readonly PageWindow[] = Object.entries(rows).map(([name, row]) => {
  const each = row.each ?? `a ${name}`
  const usual = { each, heading: capital(each), present: `This ${name}` }
  return { ...usual, ...row, name: name as WindowName }
})

/** The windows that take room: those that are shown always, and others where they are needed. */
export function windowsWhere(isNeeded: (window: PageWindow) => boolean): readonly PageWindow[] {
  return windows.filter((window) => window.isRequired || isNeeded(window))
}

/** A limit in an answer; `null` and one that is left out are unlimited. */
export type Limit = number | 'unlimited' | MeteredLimit | null | undefined

/** Points that are included, and what lies beyond. */
type MeteredLimit = Readonly<
  { limit: number; beyond: 'meter'; upTo: string } | { limit: number; beyond: 'prepaid' }
>

export type LimitsByName = Readonly<
  { [Name in LimitName]?: Limit } & { atOnce?: AtOnce | undefined }
>

/** How many requests may be under way; a plan's may keep the places of callers that have left. */
export type AtOnce = number | 'unlimited' | Readonly<{ limit: number; linger?: string | undefined }>

export function isLimited(limits: LimitsByName, { limit }: PageWindow): boolean {
  return (limits[limit] ?? 'unlimited') !== 'unlimited'
}

export function limitText(limit: Limit): string {
  if (typeof limit === 'number') return count(limit)
  if (typeof limit !== 'object' || limit === null) return 'unlimited'
  return limit.beyond === 'prepaid'
    ? prepaidText(limit.limit)
    : meteredText(limit.limit, mostOf(limit))
}

/** Points that are included, and those that were bought behind them. */
export function prepaidText(included: number): string {
  return included === 0 ? 'what was bought' : `${count(included)} included, then what was bought`
}

/** Points that are included, and the last ones that are metered; `null`: without a limit. */
export function meteredText(included: number, most: number | null = null): string {
  const bound = most === null ? 'without limit' : `up to ${count(most)}`
  return `${count(included)} included, metered ${bound}`
}

/** The last points of a limit, which refuses more; `null`: it refuses none. */
export function mostOf(limit: Limit): number | null {
  if (typeof limit === 'number') return limit
  if (typeof limit !== 'object' || limit === null) return null
  if (limit.beyond === 'prepaid' || limit.upTo === 'unlimited') return null
  const thousandths = Math.round(Number.parseFloat(limit.upTo) * 1_000)
  return Math.floor((limit.limit * thousandths) / 100_000)
}

/** Limits in words, such as "60 a minute, 1,000 a day, 3 at once", without those that are left out. */
export function limitsText(limits: LimitsByName): string {
  const { atOnce } = limits
  return windows
    .filter(({ limit }) => limits[limit] !== undefined)
    .map(({ limit, each }) => `${limitText(limits[limit])} ${each}`)
    .concat(atOnce === undefined ? [] : `${atOnceText(atOnce)} at once`)
    .join(', ')
}

/** How many requests may be under way, as a number. */
export function atOnceText(atOnce: AtOnce | undefined): string {
  return limitText(typeof atOnce === 'object' ? atOnce.limit : atOnce)
}

/** Values by the names of windows: an answer may tell of some only. */
export type ByWindow<Value> = Readonly<{ [Name in WindowName]?: Value }>

/** The number of a window; 0 if an answer doesn't tell of it. */
export function countIn(counts: ByWindow<number>, { name }: PageWindow): number {
  return counts[name] ?? 0
}

/** The sum of all windows. */
export function sumOfWindows(counts: ByWindow<number>): number {
  return windows.reduce((sum, window) => sum + countIn(counts, window), 0)
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
