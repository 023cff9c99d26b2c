import { toTenths } from '../../../shared/clock.ts'
import type { Reason, Refusal, RefusalCode } from '../../../shared/refusal.ts'
import { endsAtMs, numberAt, windows, type WindowName } from '../../../shared/windows.ts'
import type { ShareTaken } from '../http/fair-share.ts'
import type { Caller } from '../keys/caller.ts'
import type { Decision } from '../limits/step.ts'

/** One window of a kept answer; `used` is unknown if only a cached ban decided. */
export type KeptWindow = Readonly<{ limit: number; used: number | undefined; resetMs: number }>

/** The parts of a kept answer that are no numbers, besides its id and its path. */
export type Said = Readonly<{
  method: string
  code: RefusalCode | undefined
  reason: Reason | undefined
  /** The operation or the cap whose limit is used up. */
  of: Refusal['of']
  caller: Pick<Caller, 'id' | 'name' | 'plan' | 'account' | 'isTest'> | undefined
  route: string
  /** The scopes that its route needs, and those of its caller, separated by spaces; `undefined` for none, and for all. */
  needs: readonly string[] | undefined
  has: string | undefined
  upstream: string
  target: string | undefined
  config: string
  /** `undefined` without a caller: the windows are those of its address then. */
  decidedBy: Decision['decidedBy'] | undefined
}>

/** One refused or failed answer, as it is kept. Times are milliseconds since 1970. */
export type KeptRefusal = Said &
  Readonly<{
    id: string
    atMs: number
    /** Without its query and without tokens; only the beginning if it ends with `…`. */
    path: string
    status: number
    cost: number
    /** The points of its admission, where its answer tells the cost. */
    estimate: number | undefined
    /** The window of that operation or cap. */
    ofWindow: KeptWindow | undefined
    /** The windows that have a limit. */
    windows: Partial<Record<WindowName, KeptWindow>>
    strikes: number
    /** The strikes that would ban its key; `undefined` where nothing does. */
    strikesToBan: number | undefined
    bannedUntilMs: number
    /** Of a request over its quota's share of an upstream. */
    shareTaken: ShareTaken
    ownMs: number
    upstreamMs: number | undefined
  }>

/** The numbers of a kept answer, by their places. */
export const at = {
  timeMs: 0,
  status: 1,
  idLength: 2,
  pathLength: 3,
  cost: 4,
  strikes: 5,
  bannedUntilMs: 6,
  ownMs: 7,
  upstreamMs: 8,
  underWay: 9,
  share: 10,
  /** Of the operation or cap whose limit is used up. */
  ofLimit: 11,
  ofUsed: 12,
  ofResetMs: 13,
  /** -1 for none. */
  estimate: 14,
  /** 0 for none. */
  strikesToBan: 15,
  /** The limit, the use and the number of each window. */
  windows: 16,
} as const

/** The numbers of each window: its limit, its use and its number. */
const ofWindow = ['limit', 'used', 'number'] as const

/** The place of the first number of a window, by the window's place among all. */
export function placeOfWindow(index: number): number {
  return at.windows + index * ofWindow.length
}

/** The names of all numbers, in their order. */
export const numberNames: readonly string[] = [
  ...Object.keys(at).slice(0, at.windows),
  ...windows.flatMap(({ name }) => ofWindow.map((what) => `${name} ${what}`)),
]

/** Puts a kept answer together, out of its numbers by their places and the rest. */
export function keptRefusal(
  id: string,
  path: string,
  said: Said,
  number: (place: number) => number,
): KeptRefusal {
  const [upstreamMs, estimate] = [number(at.upstreamMs), number(at.estimate)]
  const [atMs, bannedUntilMs] = [number(at.timeMs), number(at.bannedUntilMs)]
  return {
    ...said,
    id,
    atMs,
    path,
    status: number(at.status),
    cost: number(at.cost),
    estimate: estimate < 0 ? undefined : estimate,
    ofWindow: said.of && {
      limit: number(at.ofLimit),
      used: number(at.ofUsed),
      resetMs: number(at.ofResetMs),
    },
    windows: windowsOf(atMs, number),
    strikes: number(at.strikes),
    strikesToBan: number(at.strikesToBan) || undefined,
    bannedUntilMs,
    shareTaken: { underWay: number(at.underWay), share: number(at.share) },
    ownMs: toTenths(number(at.ownMs)),
    upstreamMs: upstreamMs < 0 ? undefined : toTenths(upstreamMs),
  }
}

function windowsOf(atMs: number, numberAtPlace: (place: number) => number): KeptRefusal['windows'] {
  return Object.fromEntries(
    windows.flatMap((window, i) => {
      const first = placeOfWindow(i)
      const [limit, used, number] = [first, first + 1, first + 2].map(numberAtPlace)
      if (limit === undefined || limit === Infinity) return []
      // A cached ban knows no counters: its windows are those of the time.
      const resetMs = endsAtMs(window, number || numberAt(window, atMs))
      return [[window.name, { limit, used: number ? used : undefined, resetMs }]]
    }),
  )
}
