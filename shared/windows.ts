export const secondMs = 1_000
export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

/** A hundred years. */
export const foreverMs = 36_500 * dayMs

/**
 * The windows in which points are counted, the shortest first: everything that names a window goes through this list.
 * All are in UTC, and each begins with a minute (but for the brief ones), so that a minute lies in one of each. Those longer
 * than a day begin with a day, and may begin within another one.
 */
const rows = [
  { name: 'second', lengthMs: secondMs, isBrief: true, begins: 'with each second' },
  { name: 'minute', lengthMs: minuteMs, isRequired: true, begins: 'at second 0' },
  { name: 'hour', each: 'an hour', lengthMs: hourMs, comesBack: true, begins: 'at minute 0' },
  { name: 'day', lengthMs: dayMs, comesBack: true, isRequired: true, begins: 'at midnight, UTC' },
  // That of 1 January 1970 began three days before.
  {
    name: 'week',
    lengthMs: 7 * dayMs,
    firstMs: -3 * dayMs,
    comesBack: true,
    begins: 'on Monday, UTC',
  },
  // A quota may have its months begin on another day.
  { name: 'month', lengthMs: undefined, comesBack: true, begins: 'on the first, UTC' },
] as const

type Row = (typeof rows)[number]

export type WindowName = Row['name']

/** The windows whose limit each plan must say. */
export type RequiredName = Extract<Row, { isRequired: true }>['name']

export type OptionalName = Exclude<WindowName, RequiredName>

/** A value for each window by its name: always of a required one, and of an optional one where it is limited. */
export type ByName<Value> = Record<RequiredName, Value> & { [Name in OptionalName]?: Value }

export type MemberName<
  Beginning extends string,
  Name extends WindowName,
> = `${Beginning}${Capitalize<Name>}`

/** The setting that limits a window: `perMinute` for a minute. */
export type LimitNameOf<Name extends WindowName> = MemberName<'per', Name>
export type LimitName = LimitNameOf<WindowName>

export type Window = Readonly<{
  name: WindowName
  /** Its name behind a number of points: "60 a minute". */
  each: string
  /** The beginning of each, for people. */
  begins: string
  limit: LimitName
  /** Its length; `undefined` for a month, whose length differs. */
  lengthMs: number | undefined
  /** The beginning of one of them, from which all others follow. */
  firstMs: number
  /** Its number tells its beginning in this unit: its length, or a day for what is longer. */
  unitMs: number
  /** Whether the points of a request that couldn't be answered come back to it; those of an adjusted cost always do. */
  comesBack: boolean
  /** Whether plans must say its limit, and callers are always told of it. */
  isRequired: boolean
  /** Whether it is counted only where it is limited, and told only by the refusal that it causes. */
  isBrief: boolean
  /** Whether a refusal by it alone may be a strike: its caller waits for a minute at most. */
  strikes: boolean
  /** Its place among all windows. */
  index: number
  /** The position of its mark in `Counters`. */
  at: number
}>

/** Brief windows have the last marks, which most counters lack: 100,000 quotas would take 2 MB for them. */
const inOrderOfMarks = [
  ...rows.filter((row) => !('isBrief' in row)),
  ...rows.filter((row) => 'isBrief' in row),
]

/** The numbers of a mark: the window's number, the total when it began, and the points that came back to it. */
const lengthOfMark = 3

/** All windows, the shortest first. */
export const windows: readonly Window[] = rows.map((row, index) => ({
  name: row.name,
  index,
  each: 'each' in row ? row.each : `a ${row.name}`,
  begins: row.begins,
  limit: limitName(row.name),
  lengthMs: row.lengthMs,
  firstMs: 'firstMs' in row ? row.firstMs : 0,
  unitMs: Math.min(row.lengthMs ?? dayMs, dayMs),
  comesBack: 'comesBack' in row,
  isRequired: 'isRequired' in row,
  isBrief: 'isBrief' in row,
  strikes: row.lengthMs !== undefined && row.lengthMs <= minuteMs,
  at: lengthOfMark * inOrderOfMarks.indexOf(row),
}))

/** The windows that are counted always, the shortest first. */
export const steadyWindows = windows.filter(({ isBrief }) => !isBrief)

/** The windows that are counted only where they are limited. */
export const briefWindows = windows.filter(({ isBrief }) => isBrief)

/** The windows whose limit each plan must say, and the others. */
export const requiredWindows = windows.filter(({ isRequired }) => isRequired)
export const optionalWindows = windows.filter(({ isRequired }) => !isRequired)

/** The windows in the order in which callers are told of several: the longest first. */
export const longestFirst = windows.toReversed()

/** While the shortest steady window runs, all longer ones do. */
export const shortest = steadyWindows[0] ?? windowOf('minute')

/** With the longest steady window, parts are looked through for those that are over. */
export const longest = steadyWindows.at(-1) ?? shortest

/** The window of the ledger and of usage. */
export const dayWindow = windowOf('day')

/** The windows that last for a day and longer, the longest first: whose ends callers are told of, and that may be metered. */
export const longWindows = longestFirst.slice(0, longestFirst.indexOf(dayWindow) + 1)

export const windowNames = rows.map(({ name }) => name)
export const limitNames = windows.map(({ limit }) => limit)

/** The length of the marks of counters: of the steady windows alone, and of all. */
export const lengthOfSteadyMarks = lengthOfMark * steadyWindows.length
export const lengthOfAllMarks = lengthOfMark * rows.length

export function windowOf(name: WindowName): Window {
  const row = windows.find((window) => window.name === name)
  if (!row) throw new Error(`no window is called ${name}`)
  return row
}

export function isWindowName(text: unknown): text is WindowName {
  return windowNames.some((name) => name === text)
}

/** A value for each window, by the names of their limits. */
export function byLimit<Value>(valueOf: (window: Window) => Value): Record<LimitName, Value> {
  return Object.fromEntries(windows.map((window) => [window.limit, valueOf(window)])) as Record<
    LimitName,
    Value
  >
}

/** A value for each window, by their names. */
export function byWindow<Value>(valueOf: (window: Window) => Value): Record<WindowName, Value> {
  return Object.fromEntries(windows.map((window) => [window.name, valueOf(window)])) as Record<
    WindowName,
    Value
  >
}

/** `perMinute` for a minute. */
export function limitName<Name extends WindowName>(name: Name): LimitNameOf<Name> {
  return memberName('per', name)
}

/** The name of a member that is about a window: `peakMinute` of `peak` and a minute. */
export function memberName<Beginning extends string, Name extends WindowName>(
  beginning: Beginning,
  name: Name,
): MemberName<Beginning, Name> {
  return `${beginning}${name.charAt(0).toUpperCase()}${name.slice(1)}` as MemberName<
    Beginning,
    Name
  >
}

/**
 * The number of the window that runs at a time: the windows of its length since 1970. One that is longer than a day has the
 * number of its first day; months begin on a day of the quota's choice.
 */
export function numberAt(
  { lengthMs, firstMs, unitMs }: Window,
  nowMs: number,
  monthFrom = 1,
): number {
  if (lengthMs === undefined) return firstDayOfMonth(nowMs, monthFrom)
  return (firstMs + lengthMs * Math.floor((nowMs - firstMs) / lengthMs)) / unitMs
}

export function beginsAtMs({ unitMs }: Window, number: number): number {
  return number * unitMs
}

export function endsAtMs(window: Window, number: number): number {
  return beginsAtMs(window, nextNumber(window, number))
}

/** The number of the window after one. */
export function nextNumber({ lengthMs, unitMs }: Window, number: number): number {
  return lengthMs === undefined ? sameDayNextMonth(number) : number + lengthMs / unitMs
}

/**
 * The first days of the calendar's months around a time, as days since 1970. They begin two months before it: a quota's
 * running month may have begun in the calendar's last one, and a grant may be of the month before.
 */
export function firstDaysAround(nowMs: number): number[] {
  const now = new Date(nowMs)
  return [-2, -1, 0, 1, 2].map((more) => dayOf(now.getUTCFullYear(), now.getUTCMonth() + more, 1))
}

function firstDayOfMonth(nowMs: number, from: number): number {
  const now = new Date(nowMs)
  const month = now.getUTCMonth() - (now.getUTCDate() < from ? 1 : 0)
  return dayOf(now.getUTCFullYear(), month, from)
}

function sameDayNextMonth(day: number): number {
  const first = new Date(day * dayMs)
  return dayOf(first.getUTCFullYear(), first.getUTCMonth() + 1, first.getUTCDate())
}

function dayOf(year: number, month: number, date: number): number {
  return Date.UTC(year, month, date) / dayMs
}
