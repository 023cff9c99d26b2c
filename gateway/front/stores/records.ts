import { peakSpace, peaksOn, type PeakStore } from '../counts/peak-store.ts'
import { routeSpace, talliesOn, tallySpace, type TallyStore } from '../counts/tally-store.ts'
import { timelineOn, timelineSpace, type TimelineStore } from '../counts/timeline-store.ts'
import type { Counts, Space } from '../shelves/counts.ts'

/** The spaces of counts of a gateway. */
export const countSpaces: readonly Space[] = [tallySpace, routeSpace, peakSpace, timelineSpace]

/** What stands on the shelves, for any technology. */
export type Records = Readonly<{ tallies: TallyStore; peaks: PeakStore; timeline: TimelineStore }>

export function recordsOn(counts: Counts): Records {
  return { tallies: talliesOn(counts), peaks: peaksOn(counts), timeline: timelineOn(counts) }
}
