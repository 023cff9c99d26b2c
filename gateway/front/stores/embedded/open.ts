import { statSync } from 'node:fs'
import { ownMessages } from '../../shelves/messages.ts'
import type { StoreSettings } from '../../config/config.ts'
import { fleetOfOne } from '../../fleet/single-member.ts'
import { noticesOn } from '../../records/notices-on.ts'
import { recordsOn } from '../records.ts'
import type { OpenOptions, Stores } from '../stores.ts'
import { embeddedCounts } from './counts.ts'
import { openGatewayFile } from './database.ts'
import { embeddedDocuments } from './documents.ts'
import { embeddedKeys } from './keys.ts'
import { embeddedLastUses } from './last-uses.ts'
import { embeddedLists } from './lists.ts'
import { embeddedRefusals } from './refusals.ts'
import { embeddedQuotas } from './quota.ts'

/** Opens the stores in the gateway's own file. */
export function openInFile({ file }: StoreSettings, options: OpenOptions): Stores {
  const { forCommandLine = false, clock = Date.now } = options
  const database = openGatewayFile(file)
  const keys = embeddedKeys(database, clock)
  // So that the first page doesn't wait for it. If it fails, the first page goes on with it.
  if (!forCommandLine) void keys.index.catchUp().catch(() => undefined)
  // A connection of its own, because counters need less of the disk than keys do.
  const quota = embeddedQuotas(openGatewayFile(file), { clock, forCommandLine })
  // Usage is written often, and may lose a moment in a power cut: it doesn't wait for the disk.
  const usage = openGatewayFile(file)
  usage.pragma('synchronous = NORMAL')
  const shelves = {
    counts: embeddedCounts(usage),
    lists: embeddedLists(database, clock),
    documents: embeddedDocuments(database, clock),
    messages: ownMessages(),
  }
  const isInPlace = lookFor(file)
  return {
    keys,
    quota,
    ...shelves,
    ...recordsOn(shelves, clock),
    // They may come twice, and don't wait for the disk either.
    notices: noticesOn(shelves.lists, embeddedDocuments(usage, clock), clock),
    lastUses: embeddedLastUses(usage),
    refusals: embeddedRefusals(usage),
    fleet: fleetOfOne(clock),
    get warnings() {
      const shared = quota.isSoleGateway ? [] : [sharedFileWarning(file)]
      return isInPlace() ? shared : [...shared, lostFileWarning(file)]
    },
    ready: () => Promise.resolve(),
    waitsFor: () => file,
    async close() {
      await Promise.all([keys.close(), quota.close()])
      usage.close()
    },
  }
}

function sharedFileWarning(file: string): string {
  return `another gateway counts in ${file}: each admits a caller up to the whole limit. For several gateways, use Redis.`
}

/** Makes the function that tells whether the file of this name is still the one that is open now. */
function lookFor(file: string): () => boolean {
  if (file === ':memory:') return () => true
  const inodeOf = () => statSync(file, { throwIfNoEntry: false })?.ino
  const opened = inodeOf()
  return () => inodeOf() === opened
}

function lostFileWarning(file: string): string {
  return (
    `${file} was deleted or replaced while a gateway uses it: it goes on with the file that it has open, and commands don't ` +
    'reach it. Stop it, put the right file there, and start it again'
  )
}
