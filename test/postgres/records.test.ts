import t, { type Test } from 'tap'
import { fleetOn } from '../../gateway/front/fleet/shared-fleet.ts'
import { openStores, type OwnStores } from '../../gateway/index.ts'
import { storesOn } from '../../gateway/front/stores/own/stores.ts'
import { auditStoreContract } from '../contracts/audit.ts'
import { fleetStoreContract } from '../contracts/fleet.ts'
import { lastUseStoreContract } from '../contracts/last-uses.ts'
import { ledgerContract } from '../contracts/ledger.ts'
import { peakStoreContract } from '../contracts/peaks.ts'
import { refusalStoreContract } from '../contracts/refusals.ts'
import { swapStoreContract } from '../contracts/swaps.ts'
import { tallyStoreContract } from '../contracts/tallies.ts'
import { timelineStoreContract } from '../contracts/timeline.ts'
import { startPostgres, timeoutMs } from './server.ts'
import { openPostgres } from './store/open.ts'

const { newDatabase } = await startPostgres(t)

const inMemory = await openStores({
  ...{ file: ':memory:', redis: undefined, prefix: '', timeoutMs: 1_000 },
  whenUnreachable: 'local',
})
t.teardown(() => inMemory.close())

/** What stands on the shelves of one empty database, as two apps have it, by a clock that a test moves. */
async function openTwice(t: Test) {
  const url = await newDatabase()
  let now = Date.now()
  const options = { testClock: () => now, timeoutMs }
  const open = () => {
    const own: OwnStores = { ...openPostgres(url, options), notices: inMemory.notices }
    t.teardown(() => own.close())
    return storesOn(own, () => now)
  }
  return { first: open(), second: open(), setTime: (ms: number) => void (now = ms) }
}

/** Two views of one of them. */
async function twice<Name extends keyof typeof inMemory>(t: Test, name: Name) {
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
void swapStoreContract(t, name, (t) => twice(t, 'swaps'))
void ledgerContract(t, name, openTwice)
void fleetStoreContract(t, name, async (t) => {
  const { first, setTime } = await openTwice(t)
  const fleet = fleetOn(first.documents, () => 0)
  return { fleet, beat: () => fleet.beat(), setTime }
})
