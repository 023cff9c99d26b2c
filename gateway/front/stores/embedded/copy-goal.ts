import { existsSync, statSync } from 'node:fs'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { recordOf } from '../../keys/record.ts'
import type { StoredKey } from '../../keys/key.ts'
import { daysOf, numbersPerDay, type QuotaPeaks } from '../../counts/peak-store.ts'
import { newQuota } from '../../limits/step.ts'
import type { ClosedDay } from '../../records/ledger-store.ts'
import { auditText, rememberedEntries, type AuditEntry } from '../../records/audit-store.ts'
import type { CopyGoal, StoredQuota, StoredUses } from '../copy.ts'
import { mergedAudit, mergedQuota } from '../merge.ts'
import type { Tally } from '../../counts/tally-store.ts'
import { requireGatewayFile } from './gateway-file.ts'
import { claim } from './claim.ts'
import { inUseSentence, keyLookups, inspectGoal } from './inspect-goal.ts'
import { openGatewayFile } from './database.ts'
import { ledgerRows } from './ledger.ts'
import { lastUseRows } from './last-uses.ts'
import { linesIn } from './key-index.ts'
import { newFile } from './new-file.ts'
import { peakRows } from './peaks.ts'
import { EmbeddedQuotas } from './quota.ts'
import { stateFrom, textOf } from './quota-file.ts'
import { tallyRows } from './tallies.ts'

/** SQLite's cache in KiB. It is large because a million keys are written in random order. */
const cacheKb = 256 * 1_024

/** Rows per transaction in an existing file: a million keys in steps of 1,000 made the disk write 6 GB. */
const stepRows = 50_000

/**
 * A gateway's file as the goal of a copy. A new file gets its name when the copy is finished, not before.
 * An existing file is only read until something is put, so it stays unchanged if the copy is refused. A
 * file in which a gateway counts is refused: the counters in the gateway's memory would overwrite the copy.
 */
export async function embeddedGoal(file: string, clock: Clock): Promise<CopyGoal> {
  const isNew = !existsSync(file) || statSync(file).size === 0
  return isNew ? newGoal(file, clock) : existingGoal(file, clock)
}

async function newGoal(file: string, clock: Clock): Promise<CopyGoal> {
  const written = newFile(file)
  const { finish, close, ...puts } = await writingIn(written.path, clock, true).catch(
    (error: unknown) => {
      written.discard()
      throw error
    },
  )
  return {
    name: file,
    ...puts,
    contents: () => Promise.resolve([]),
    clashes: () => Promise.resolve([]),

    async finish() {
      await finish()
      written.putInPlace()
    },

    close() {
      close()
      written.discard()
      return Promise.resolve()
    },
  }
}

function existingGoal(file: string, clock: Clock): CopyGoal {
  requireGatewayFile(file)
  const { close, ...looks } = inspectGoal(file, clock)
  let writing: Promise<Writing> | undefined
  const begun = (): Promise<Writing> => {
    close()
    return (writing ??= writingIn(file, clock, false))
  }
  return {
    name: file,
    ...looks,
    putKeys: async (keys) => (await begun()).putKeys(keys),
    putQuotas: async (quotas) => (await begun()).putQuotas(quotas),
    putTallies: async (tallies) => (await begun()).putTallies(tallies),
    putPeaks: async (peaks) => (await begun()).putPeaks(peaks),
    putLedger: async (day) => (await begun()).putLedger(day),
    putLastUses: async (uses) => (await begun()).putLastUses(uses),
    putAudit: async (entries) => (await begun()).putAudit(entries),
    finish: async () => (await begun()).finish(),

    async close() {
      close()
      // If opening failed, the caller of a put has got the error.
      await writing?.then(
        (each) => each.close(),
        () => undefined,
      )
    },
  }
}

type Puts = Pick<
  CopyGoal,
  'putKeys' | 'putQuotas' | 'putTallies' | 'putPeaks' | 'putLedger' | 'putLastUses' | 'putAudit'
>
type Writing = Puts & Readonly<{ finish: () => Promise<void>; close: () => void }>

/** Opens a file for writing, when no gateway counts in it. */
async function writingIn(path: string, clock: Clock, isNew: boolean): Promise<Writing> {
  const claimed = await claimTidy(path, clock)
  const database = openGatewayFile(path)
  database.pragma(`cache_size = -${cacheKb}`)
  // A new file is deleted if anything fails, so a roll-back needs nothing on disk.
  if (isNew) database.pragma('journal_mode = MEMORY')
  database.pragma('synchronous = NORMAL')
  let isOver = false
  const close = (): void => {
    if (isOver) return
    isOver = true
    database.close()
    claimed.close()
  }
  return {
    ...puttersOf(database, isNew ? Infinity : stepRows),

    async finish() {
      if (database.inTransaction) database.exec('COMMIT')
      await linesIn(database).catchUp()
      database.pragma('synchronous = FULL')
      database.pragma('journal_mode = WAL')
      database.pragma('wal_checkpoint(TRUNCATE)')
      close()
    },

    close,
  }
}

/** Moves the journal that an ended gateway left into the table, and claims the file. */
async function claimTidy(file: string, clock: Clock): Promise<Database> {
  claimIn(file).close()
  await new EmbeddedQuotas(openGatewayFile(file), { clock }).close()
  return claimIn(file)
}

function claimIn(file: string): Database {
  const database = openGatewayFile(file)
  const claimed = claim(database)
  database.close()
  if (claimed) return claimed
  throw new Error(inUseSentence(file))
}

function puttersOf(database: Database, mostRows: number): Puts {
  const { versionOf, holderOf } = keyLookups(database)
  const idAt = database.prepare<number, string>('SELECT id FROM keys WHERE version = ?').pluck()
  const insertKey = database.prepare(
    `INSERT INTO keys VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET version = excluded.version, record = excluded.record`,
  )
  const insertSecret = database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)')
  // The index makes the lines of these keys when it catches up.
  const lowerLinedUpTo = database.prepare('UPDATE lined SET version = ? - 1 WHERE version >= ?')
  const quotaAt = database
    .prepare<string, string>('SELECT state FROM quotas WHERE quota = ?')
    .pluck()
  const insertQuota = database.prepare(
    `INSERT INTO quotas VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET keepUntilMs = max(keepUntilMs, excluded.keepUntilMs), state = excluded.state`,
  )

  let rows = 0
  /** Puts items in the open transaction, and commits it when it is large enough. */
  function inSteps<Item, Result>(
    put: (items: readonly Item[]) => Result,
    rowsOf: (item: Item) => number = () => 1,
  ) {
    return (items: readonly Item[]): Promise<Result> => {
      if (!database.inTransaction) database.exec('BEGIN IMMEDIATE')
      const result = put(items)
      for (const item of items) rows += rowsOf(item)
      if (rows >= mostRows) {
        database.exec('COMMIT')
        rows = 0
      }
      return Promise.resolve(result)
    }
  }

  const putKey = ({ key, version: given }: StoredKey): boolean => {
    const stored = versionOf.get(key.id)
    if (stored !== undefined && stored >= given) return false
    let version = given
    // Two stores may have given one number to two keys.
    while (idAt.get(version) !== undefined) version++
    insertKey.run(key.id, version, recordOf(key))
    lowerLinedUpTo.run(version, version)
    for (const { hash } of key.secrets) {
      if (insertSecret.run(hash, key.id).changes > 0 || holderOf.get(hash) === key.id) continue
      throw new Error(`a token of the key ${key.id} belongs to the key ${holderOf.get(hash)}`)
    }
    return stored === undefined
  }
  const putKeys = inSteps((keys: readonly StoredKey[]) => {
    return keys.reduce((count, key) => count + (putKey(key) ? 1 : 0), 0)
  })
  const putQuotas = inSteps((quotas: readonly StoredQuota[]) => {
    for (const { quota, state, keepUntilMs } of quotas) {
      const stored = stateFrom(quotaAt.get(quota) ?? '') ?? newQuota()
      insertQuota.run(quota, keepUntilMs, textOf(mergedQuota(stored, state)))
    }
  })
  const { raise: raiseTally } = tallyRows(database)
  const putTallies = inSteps((tallies: readonly Tally[]) => {
    for (const tally of tallies) raiseTally(tally)
  })
  const peaks = peakRows(database)
  const putPeaks = inSteps(
    (all: readonly QuotaPeaks[]) => {
      for (const each of all) for (const day of daysOf(each)) peaks.raise(day)
    },
    ({ numbers }) => numbers.length / numbersPerDay,
  )
  const ledger = ledgerRows(database)
  const putDays = inSteps((days: readonly ClosedDay[]) => {
    for (const day of days) {
      ledger.begin(day.day)
      ledger.put(day)
    }
  })
  const putLedger = (day: ClosedDay): Promise<void> => putDays([day])
  const lastUses = lastUseRows(database)
  const putLastUses = inSteps((all: readonly StoredUses[]) => {
    for (const { key, uses } of all) lastUses.put(key, uses)
  })
  const putAudit = inSteps((given: readonly AuditEntry[]) => {
    const texts = database.prepare<[], string>('SELECT entry FROM audit ORDER BY seq').pluck().all()
    const entries = mergedAudit(texts, given).slice(-rememberedEntries)
    database.exec('DELETE FROM audit')
    const insert = database.prepare('INSERT INTO audit (atMs, subject, entry) VALUES (?, ?, ?)')
    for (const entry of entries) insert.run(entry.atMs, entry.subject, auditText(entry))
  })

  return { putKeys, putQuotas, putTallies, putPeaks, putLedger, putLastUses, putAudit }
}
