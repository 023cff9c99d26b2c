import { peakSpace, peaksOn } from '../counts/peak-store.ts'
import { talliesOn, tallySpace } from '../counts/tally-store.ts'
import { timelineOn, timelineSpace } from '../counts/timeline-store.ts'
import { questionsOn } from '../fleet/questions.ts'
import { ledgerOn } from '../records/ledger-store.ts'
import type { Clock } from '../../../shared/clock.ts'
import { auditList, auditOn, loadedAuditList } from '../records/audit-list.ts'
import { noticeList, noticesOn } from '../records/notices-on.ts'
import type { Counts, Space } from '../shelves/counts.ts'
import type { Documents } from '../shelves/documents.ts'
import type { List, Lists } from '../shelves/lists.ts'
import type { Messages } from '../shelves/messages.ts'
import { swapsOn } from '../swaps/store.ts'

/** The spaces of counts of a gateway. */
export const countSpaces: readonly Space[] = [tallySpace, peakSpace, timelineSpace]

/** The lists of a gateway. */
export const gatewayLists: readonly List[] = [auditList, loadedAuditList, noticeList]

/** What stands on the shelves, for any technology. */
export type Records = Readonly<ReturnType<typeof recordsOn>>

export type Shelves = Readonly<{
  counts: Counts
  lists: Lists
  documents: Documents
  messages: Messages
}>

export function recordsOn({ counts, lists, documents, messages }: Shelves, clock: Clock) {
  return {
    tallies: talliesOn(counts),
    peaks: peaksOn(counts),
    timeline: timelineOn(counts),
    audit: auditOn(lists),
    notices: noticesOn(lists, documents, clock),
    ledger: ledgerOn(documents),
    swaps: swapsOn(documents),
    questions: questionsOn(messages),
  }
}
