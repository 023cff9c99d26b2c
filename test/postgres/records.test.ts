import t, { type Test } from 'tap'
import { fleetOn } from '../../gateway/front/fleet/shared-fleet.ts'
import { noticesOn } from '../../gateway/front/records/notices-on.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import { storesOn } from '../../gateway/front/stores/own/stores.ts'
import { auditStoreContract } from '../contracts/audit.ts'
import { fleetStoreContract } from '../contracts/fleet.ts'
import { lastUseStoreContract } from '../contracts/last-uses.ts'
import { ledgerContract } from '../contracts/ledger.ts'
import { mostOfTest, noticeStoreContract } from '../contracts/notices.ts'
import { peakStoreContract } from '../contracts/peaks.ts'
import { refusalStoreContract } from '../contracts/refusals.ts'
import { swapStoreContract } from '../contracts/swaps.ts'
import { tallyStoreContract } from '../contracts/tallies.ts'
import { timelineStoreContract } from '../contracts/timeline.ts'
import { startPostgres, timeoutMs } from './server.ts'
import { openPostgres } from './store/open.ts'

const { newDatabase } = await startPostgres(t)

/** What stands on the shelves of one empty database, as two apps have it, by a clock that a test moves. */
async function openTwice(t: Test, given?: () => number) {
  const url = await newDatabase()
  let now = Date.now()
  const clock = given ?? (() => now)
  const options = { testClock: clock, timeoutMs }
  const open = () => {
    const own = openPostgres(url, options)
    t.teardown(() => own.close())
    return storesOn(own, clock)
  }
  return { first: open(), second: open(), setTime: (ms: number) => void (now = ms) }
}

/** Two views of one of them. */
async function twice<Name extends keyof Stores>(t: Test, name: Name) {
  const { first, second, setTime } = await openTwice(t)
  return { first: first[name], second: second[name], setTime }
}

const name = 'on shelves in PostgreSQL'
void tallyStoreContract(t, name, (t) => twice(t, 'tallies'))
void peakStoreContract(t, name, (t) => twice(t, 'peaks'))
void timelineStoreContract(t, name, (t) => twice(t, 'timeline'))
void lastUseStoreContract(t, name, (t) => twice(t, 'lastUses'))
void auditStoreContract(t, name, (t) => twice(t, 'audit'))
void refusalStoreContract(t, name, (t) => twice(t, 'refusals'))
void noticeStoreContract(t, name, async (t, clock) => {
  const { first, second } = await openTwice(t, clock)
  const noticesIn = ({ lists, documents }: Stores) => noticesOn(lists, documents, clock, mostOfTest)
  return { first: noticesIn(first), second: noticesIn(second) }
})
void swapStoreContract(t, name, (t) => twice(t, 'swaps'))
void ledgerContract(t, name, openTwice)
void fleetStoreContract(t, name, async (t) => {
  const { first, setTime } = await openTwice(t)
  const fleet = fleetOn(first.documents, () => 0)
  return { fleet, beat: () => fleet.beat(), setTime }
})
