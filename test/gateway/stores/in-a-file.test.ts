import { join } from 'node:path'
import t, { type Test } from 'tap'
import { peaksOn } from '../../../gateway/front/counts/peak-store.ts'
import { talliesOn } from '../../../gateway/front/counts/tally-store.ts'
import { fleetOfOne } from '../../../gateway/front/fleet/single-member.ts'
import { auditOn } from '../../../gateway/front/records/audit-list.ts'
import { embeddedCounts } from '../../../gateway/front/stores/embedded/counts.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedKeys } from '../../../gateway/front/stores/embedded/keys.ts'
import { embeddedLastUses } from '../../../gateway/front/stores/embedded/last-uses.ts'
import { embeddedLists } from '../../../gateway/front/stores/embedded/lists.ts'
import { noticesOn } from '../../../gateway/front/records/notices-on.ts'
import { embeddedDocuments } from '../../../gateway/front/stores/embedded/documents.ts'
import { embeddedRefusals } from '../../../gateway/front/stores/embedded/refusals.ts'
import { embeddedQuotas } from '../../../gateway/front/stores/embedded/quota.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { auditStoreContract } from '../../contracts/audit.ts'
import { fleetStoreContract } from '../../contracts/fleet.ts'
import { keyStoreContract } from '../../contracts/keys.ts'
import { lastUseStoreContract } from '../../contracts/last-uses.ts'
import { ledgerContract } from '../../contracts/ledger.ts'
import { mostOfTest, noticeStoreContract } from '../../contracts/notices.ts'
import { peakStoreContract } from '../../contracts/peaks.ts'
import { quotaStoreContract } from '../../contracts/quota.ts'
import { refusalStoreContract } from '../../contracts/refusals.ts'
import { tallyStoreContract } from '../../contracts/tallies.ts'
import { folderOf } from '../../support/folder.ts'

const name = 'embedded, in a SQLite file'

/** One file as two processes have it open. What isn't about the disk needn't wait for it. */
function openTwice(t: Test) {
  const file = join(folderOf(t), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, two]) database.pragma('synchronous = OFF')
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return [one, two] as const
}

keyStoreContract(t, name, async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const [first, second] = [embeddedKeys(openGatewayFile(file)), embeddedKeys(openGatewayFile(file))]
  const close = async () => void (await Promise.all([first.close(), second.close()]))
  return { first, second, close }
})

quotaStoreContract(t, 'embedded, in memory and a SQLite file', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  let now = 0
  const open = () => embeddedQuotas(openGatewayFile(file), { clock: () => now })
  let store = open()
  const reopen = async () => {
    await store.close()
    return (store = open())
  }
  return { store, setTime: (ms) => (now = ms), reopen, close: () => store.close() }
})

tallyStoreContract(t, name, async (t) => {
  const [one, two] = openTwice(t)
  return { first: talliesOn(embeddedCounts(one)), second: talliesOn(embeddedCounts(two)) }
})

lastUseStoreContract(t, name, async (t) => {
  const [one, two] = openTwice(t)
  const [first, second] = [embeddedLastUses(one), embeddedLastUses(two)]
  return { first, second, setTime: () => undefined }
})

ledgerContract(t, name, async (t) => {
  let now = 0
  const file = join(folderOf(t), 'gateway.db')
  const settings = { file, redis: undefined, prefix: 'l:', timeoutMs: 5_000 } as const
  const open = (forCommandLine: boolean) =>
    openStores({ ...settings, whenUnreachable: 'local' }, { clock: () => now, forCommandLine })
  const [first, second] = [await open(false), await open(true)]
  t.teardown(() => Promise.all([first.close(), second.close()]))
  // One process counts in a file; the other one closes days as well.
  const closing = { ...first, ledger: second.ledger }
  return { first, second: closing, setTime: (ms) => (now = ms) }
})

auditStoreContract(t, name, async (t) => {
  const [one, two] = openTwice(t)
  const [first, second] = [one, two].map((each) => auditOn(embeddedLists(each, Date.now)))
  if (!first || !second) throw new Error('two were opened')
  return { first, second }
})

peakStoreContract(t, name, async (t) => {
  const [one, two] = openTwice(t)
  return { first: peaksOn(embeddedCounts(one)), second: peaksOn(embeddedCounts(two)) }
})

void refusalStoreContract(t, name, async (t) => {
  const [one, two] = openTwice(t)
  return Promise.resolve({ first: embeddedRefusals(one), second: embeddedRefusals(two) })
})

noticeStoreContract(t, name, async (t, clock) => {
  const [one, two] = openTwice(t)
  const [first, second] = [one, two].map((each) => {
    return noticesOn(embeddedLists(each, clock), embeddedDocuments(each, clock), clock, mostOfTest)
  })
  if (!first || !second) throw new Error('two were opened')
  return { first, second }
})

fleetStoreContract(t, 'embedded, of one gateway', async () => {
  let now = 0
  const fleet = fleetOfOne(() => now)
  return { fleet, beat: () => Promise.resolve(), setTime: (ms) => (now = ms) }
})
