import { existsSync, statSync } from 'node:fs'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { auditOn } from '../../records/audit-list.ts'
import { ledgerOn } from '../../records/ledger-store.ts'
import type { WrittenStore } from '../dump/store.ts'
import { claim } from './claim.ts'
import { openGatewayFile } from './database.ts'
import { embeddedDocuments } from './documents.ts'
import { embeddedKeys } from './keys.ts'
import { lastUseRows } from './last-uses.ts'
import { embeddedLists } from './lists.ts'
import { newFile } from './new-file.ts'
import { embeddedQuotas } from './quota.ts'
import { quotaFile } from './quota-file.ts'
import { embeddedCounts } from './counts.ts'

/** SQLite's cache in KiB. It is large because a million keys are written in random order. */
const cacheKb = 256 * 1_024

/** Whether a load makes the file. */
export function isNewFile(file: string): boolean {
  return !existsSync(file) || statSync(file).size === 0
}

/**
 * A gateway's file to load. A new one gets its name when it is finished, not before. One in which a gateway counts is
 * refused: the counters in the gateway's memory would take the place of what is loaded.
 */
export async function writtenFile(file: string, clock: Clock): Promise<WrittenStore> {
  const made = isNewFile(file) ? newFile(file) : undefined
  try {
    const opened = await opening(made?.path ?? file, clock)
    return {
      ...opened,
      async finish() {
        await opened.finish()
        made?.putInPlace()
      },
      async close() {
        await opened.close()
        made?.discard()
      },
    }
  } catch (error) {
    made?.discard()
    throw error
  }
}

async function opening(path: string, clock: Clock): Promise<WrittenStore> {
  const claimed = await claimTidy(path, clock)
  const database = openGatewayFile(path)
  database.pragma(`cache_size = -${cacheKb}`)
  database.pragma('synchronous = NORMAL')
  const lists = embeddedLists(database, clock)
  const quotas = quotaFile(database)
  const uses = lastUseRows(database)
  const putUses = database.transaction((all: Parameters<WrittenStore['putUses']>[0]) => {
    for (const each of all) uses.put(...each)
  })
  const close = (): Promise<void> => {
    database.close()
    claimed.close()
    return Promise.resolve()
  }
  return {
    keys: embeddedKeys(database, clock),
    counts: embeddedCounts(database),
    ledger: ledgerOn(embeddedDocuments(database, clock)),
    audit: auditOn(lists),
    lists,
    putQuotas(some) {
      quotas.moveToTable(some.map(({ quota, state }) => ({ ...state, quota })))
      for (const { quota, state } of some) {
        if (state.topUps) quotas.putTopUps(quota, state.topUps)
      }
      return Promise.resolve()
    },
    putUses: (all) => Promise.resolve(putUses.immediate(all)),
    finish() {
      database.pragma('synchronous = FULL')
      database.pragma('wal_checkpoint(TRUNCATE)')
      return close()
    },
    close,
  }
}

/** Moves the journal that an ended gateway left into the table, and claims the file. */
async function claimTidy(file: string, clock: Clock): Promise<Database> {
  claimIn(file).close()
  await embeddedQuotas(openGatewayFile(file), { clock }).close()
  return claimIn(file)
}

function claimIn(file: string): Database {
  const database = openGatewayFile(file)
  const claimed = claim(database)
  database.close()
  if (claimed) return claimed
  throw new Error(`a gateway counts in ${file}: stop it first. Nothing was written`)
}
