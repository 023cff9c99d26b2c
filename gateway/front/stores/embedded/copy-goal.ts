import { existsSync, statSync } from 'node:fs'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { recordOf } from '../../keys/record.ts'
import type { StoredKey } from '../../keys/key.ts'
import { newQuota } from '../../limits/quota-state.ts'
import { auditText, rememberedEntries, type AuditEntry } from '../../records/audit-store.ts'
import type { CopyGoal, Puts, StoredQuota } from '../copy.ts'
import { putsOfDays } from '../copy-days.ts'
import { mergedAudit, mergedQuota } from '../merge.ts'
import { recordsOn } from '../records.ts'
import { claim } from './claim.ts'
import { embeddedCounts } from './counts.ts'
import { inUseSentence, keyLookups, inspectGoal } from './inspect-goal.ts'
import { openGatewayFile } from './database.ts'
import { embeddedLedger } from './ledger.ts'
import { lastUseRows } from './last-uses.ts'
import { Lines } from './key-index.ts'
import { newFile } from './new-file.ts'
import { EmbeddedQuotas } from './quota.ts'
import { stateFrom, textOf } from './quota-file.ts'

/** SQLite's cache in KiB. It is large because a million keys are written in random order. */
const cacheKb = 256 * 1_024

/** Rows per transaction in an existing file: a million keys in steps of 1,000 made the disk write 6 GB. */
const stepRows = 50_000

/**
 * A gateway's file as the goal of a copy. A new file gets its name when the copy is finished, not before.
 * An existing file is only read until something is put, so it stays unchanged if the copy is refused. A
 * file in which a gateway counts is refused: the counters in the gateway's memory would overwrite the copy.
 */
export function embeddedGoal(file: string, clock: Clock): CopyGoal {
  const isNew = !existsSync(file) || statSync(file).size === 0
  const looks = isNew ? undefined : inspectGoal(file, clock)
  const added = { keys: 0 }
  let writing: Promise<Writing> | undefined
  const begun = (): Promise<Writing> => {
    looks?.close()
    return (writing ??= isNew ? writingNew(file, clock, added) : writingIn(file, clock, added))
  }
  return {
    name: file,
    get newKeys() {
      return added.keys
    },
    contents: () => Promise.resolve(looks?.contents() ?? []),
    clashes: (keys) => Promise.resolve(looks?.clashes(keys) ?? []),
    put: async (name, items) => (await begun()).puts[name](items),
    finish: async () => (await begun()).finish(),

    async close() {
      looks?.close()
      // If opening failed, the caller of a put has got the error.
      await writing?.then(
        (each) => each.close(),
        () => undefined,
      )
    },
  }
}

type Writing = Readonly<{ puts: Puts; finish: () => Promise<void>; close: () => void }>
type Added = { keys: number }

async function writingNew(file: string, clock: Clock, added: Added): Promise<Writing> {
  const written = newFile(file)
  try {
    const { puts, finish, close } = await writingIn(written.path, clock, added, true)
    return {
      puts,
      async finish() {
        await finish()
        written.putInPlace()
      },
      close() {
        close()
        written.discard()
      },
    }
  } catch (error) {
    written.discard()
    throw error
  }
}

/** Opens a file for writing, when no gateway counts in it. */
async function writingIn(
  path: string,
  clock: Clock,
  added: Added,
  isNew = false,
): Promise<Writing> {
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
    puts: putsInto(database, isNew ? Infinity : stepRows, added),

    async finish() {
      if (database.inTransaction) database.exec('COMMIT')
      await new Lines(database).catchUp()
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

/** The puts of all spaces, in transactions of at least so many rows. */
function putsInto(database: Database, mostRows: number, added: Added): Puts {
  const changes = database.prepare<[], number>('SELECT total_changes()').pluck()
  let committed = 0
  /** Puts items in the open transaction, and commits it when it is large enough. */
  const inSteps =
    <Item>(put: (items: readonly Item[]) => Promise<void> | void) =>
    async (items: readonly Item[]): Promise<void> => {
      if (!database.inTransaction) database.exec('BEGIN IMMEDIATE')
      await put(items)
      const all = changes.get() ?? 0
      if (all - committed < mostRows) return
      committed = all
      database.exec('COMMIT')
    }
  const each = <Item>(put: (item: Item) => void) =>
    inSteps((items: readonly Item[]) => items.forEach((item) => put(item)))
  const { put: putUses } = lastUseRows(database)
  const putKey = keyPutter(database)
  const ofDays = putsOfDays({
    ...recordsOn(embeddedCounts(database)),
    ledger: embeddedLedger(database),
  })
  return {
    quotas: each(quotaPutter(database)),
    tallies: inSteps(ofDays.tallies),
    peaks: inSteps(ofDays.peaks),
    ledger: inSteps(ofDays.ledger),
    lastUses: each(({ key, uses }) => putUses(key, uses)),
    audit: inSteps((entries) => putAudit(database, entries)),
    keys: each((key) => {
      if (putKey(key)) added.keys++
    }),
  }
}

/** Makes the function that puts a key; it tells whether the key is new. */
function keyPutter(database: Database): (stored: StoredKey) => boolean {
  const { versionOf, holderOf } = keyLookups(database)
  const idAt = database.prepare<number, string>('SELECT id FROM keys WHERE version = ?').pluck()
  const insertKey = database.prepare(
    `INSERT INTO keys VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET version = excluded.version, record = excluded.record`,
  )
  const insertSecret = database.prepare('INSERT OR IGNORE INTO secrets VALUES (?, ?)')
  // The index makes the lines of these keys when it catches up.
  const lowerLinedUpTo = database.prepare('UPDATE lined SET version = ? - 1 WHERE version >= ?')
  return ({ key, version: given }) => {
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
}

function quotaPutter(database: Database): (quota: StoredQuota) => void {
  const stateOf = database.prepare<string, string>('SELECT state FROM quotas WHERE quota = ?')
  const insert = database.prepare(
    `INSERT INTO quotas VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET keepUntilMs = max(keepUntilMs, excluded.keepUntilMs), state = excluded.state`,
  )
  return ({ quota, state, keepUntilMs }) => {
    const stored = stateFrom(stateOf.pluck().get(quota) ?? '') ?? newQuota()
    insert.run(quota, keepUntilMs, textOf(mergedQuota(stored, state)))
  }
}

function putAudit(database: Database, given: readonly AuditEntry[]): void {
  const texts = database.prepare<[], string>('SELECT entry FROM audit ORDER BY seq').pluck().all()
  const entries = mergedAudit(texts, given).slice(-rememberedEntries)
  database.exec('DELETE FROM audit')
  const insert = database.prepare('INSERT INTO audit (atMs, subject, entry) VALUES (?, ?, ?)')
  for (const entry of entries) insert.run(entry.atMs, entry.subject, auditText(entry))
}
