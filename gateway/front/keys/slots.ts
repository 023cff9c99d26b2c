import type { Window } from '../../../shared/windows.ts'

// The counts of requests keep these in the state of a caller, between two of its requests.

/** The number of times that one key has done one thing on one day. */
export type DayCount = {
  readonly key: string
  readonly what: string
  /** `forgotten` for an idle count, which isn't used any more. */
  day: number
  count: number
  lastMs: number | undefined
  /** Another count of the same key and day. */
  readonly next: DayCount | undefined
}

/** The slot that keeps the latest count of a key between requests: mostly the next one continues it. */
export type CountSlot = { dayCount: DayCount | undefined }

/** The refusals of one key for one reason in one minute. With a count of 0 it waits for no batch. */
export type MinuteCount = {
  readonly key: string
  /** Minutes since 1970. */
  readonly minute: number
  readonly code: string
  readonly reason: string
  count: number
  /** The limit and the points used, at the latest of them; 0 where no window was the reason. */
  limit: number
  used: number
  /** Another count of the same key and minute. */
  readonly next: MinuteCount | undefined
}

/** The part of a caller's state that holds its peaks of one day until they are written. */
export type PeakSlot = {
  peakDay: number
  peakMinute: number
  peakUsed: number
  refusedByMinute: number
  refusedByDay: number
}

/** How many percentages of a window were told. */
export type NearLevel = Readonly<{ number: number; level: number }>

/** The part of a caller's state that says how much of its long windows was told. */
export type NearSlot = { nearLevels: Map<Window, NearLevel> | undefined }
