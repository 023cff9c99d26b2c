import type { Window } from '../../../shared/windows.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import type { Tally } from './tally-store.ts'
import type { RefusedKey } from './timeline-store.ts'
import type { Waits } from './waiting.ts'

/** The number of times that one key has done one thing on one day. */
export type DayCount = Waits &
  Tally & {
    count: number
    lastMs: number
    /** Another count of the same key and day. */
    readonly next: DayCount | undefined
  }

/** The slot of the latest count of a key: mostly the next request continues it. */
export type DayCounts = { latest: DayCount | undefined }

/** The refusals of one key for one reason in one minute. */
export type MinuteCount = Waits &
  RefusedKey & {
    count: number
    limit: number
    used: number
    /** Another count of the same key and minute. */
    readonly next: MinuteCount | undefined
  }

/** The highest use of a caller's quota on one day. A class, because V8 gives its objects no room for more members. */
export class DayUse implements Waits {
  isWaiting = false
  readonly quota: string
  readonly day: number
  /** The windows of `most`, in its order. */
  readonly recorded: readonly Window[]
  readonly most: number[]
  /** By window; `undefined` without any. */
  refused: number[] | undefined

  constructor(quota: string, day: number, recorded: readonly Window[]) {
    this.quota = quota
    this.day = day
    this.recorded = recorded
    this.most = recorded.map(() => 0)
    this.refused = undefined
  }
}

/** How many percentages of a window were told. */
export type NearLevel = Readonly<{ number: number; level: number }>

/** The last use of a token. */
export type LatestUse = Waits & { readonly caller: Caller; atMs: number }

/** The counts of one caller that its next request continues. */
class CallerCounts implements DayCounts {
  /** The usage that was counted last. */
  latest: DayCount | undefined
  refusals: MinuteCount | undefined
  peak: DayUse | undefined
  use: LatestUse | undefined
  /** The parts of its quota's long windows that notices have told. */
  nearLevels: Map<Window, NearLevel> | undefined
  /** What was told of its quota's latest top-up. */
  purseLevel: NearLevel | undefined
}

/** The counts of a caller, which begin with its first request. */
export function countsOf(caller: Caller): CallerCounts {
  const state = stateOf(caller)
  if (state.counts instanceof CallerCounts) return state.counts
  const counts = new CallerCounts()
  state.counts = counts
  return counts
}
