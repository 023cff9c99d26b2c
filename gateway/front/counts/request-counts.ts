import type { Closers } from '../../../shared/closers.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { LastUseStore } from '../keys/last-use-store.ts'
import { countWriter } from './count-writer.ts'
import { LastUses } from './last-uses.ts'
import { LiveCounts } from './live-counts.ts'
import type { Meters } from './meters.ts'
import { NearLimits, type NearLimit } from './near-limits.ts'
import type { PeakStore } from './peak-store.ts'
import { Peaks } from './peaks.ts'
import type { Member } from '../fleet/store.ts'
import { RecentRefusals } from './recent-refusals.ts'
import type { RefusalStore } from './refusal-store.ts'
import { refusalWriter } from './refusal-writer.ts'
import { Tallies } from './tallies.ts'
import type { TallyStore } from './tally-store.ts'
import type { TimelineStore } from './timeline-store.ts'
import { Timeline } from './timeline.ts'

/** All that is counted and remembered of requests. */
export type RequestCounts = Readonly<ReturnType<typeof openCounts>>

export type RequestCountsOptions = Readonly<{
  stores: Readonly<{
    tallies: Pick<TallyStore, 'add'>
    lastUses: LastUseStore
    timeline: Pick<TimelineStore, 'add'>
    peaks: Pick<PeakStore, 'add'>
    refusals: Pick<RefusalStore, 'put'>
  }>
  meters: Meters
  /** The line of this process for the fleet. */
  member: () => Member
  /** Writes down the points that quotas keep in memory. */
  settle: () => Promise<void>
  nearLimit: (near: NearLimit) => void
  trouble: (what: string, whenOver: string) => (error: Error | undefined) => void
  clock: Clock
  closers: Closers
}>

export function openCounts(options: RequestCountsOptions) {
  const { stores, meters, member, settle, nearLimit, trouble, clock, closers } = options
  const tallies = new Tallies(stores.tallies, clock)
  const lastUses = new LastUses({ store: stores.lastUses, clock })
  const timeline = new Timeline(stores.timeline)
  const peaks = new Peaks(stores.peaks)
  const refusals = new RecentRefusals(clock())
  const ofRefusals = refusalWriter({ refusals, store: stores.refusals, self: member })
  const writer = countWriter(
    [tallies, lastUses, timeline, peaks, { write: settle }, ofRefusals],
    trouble('usage can’t be written down; it is kept in memory', 'usage is written down again'),
  )
  closers.add(() => writer.close())
  return {
    meters,
    tallies,
    lastUses,
    timeline,
    peaks,
    nearLimits: new NearLimits(nearLimit),
    recentRefusals: refusals,
    /** The latest sums of this gateway. */
    liveCounts: new LiveCounts({ clock, routes: meters.routes }),
    /** Adds all counts to the store; resolves when they are stored, or when that has failed for now. */
    flushCounts: () => writer.flush(),
  }
}
