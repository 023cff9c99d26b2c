import type { Grant } from '../../limits/grants.ts'
import { breathe } from '../../../../shared/breathe.ts'
import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { usesFrom } from '../../keys/last-use-store.ts'
import type { StoredKey } from '../../keys/key.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import { newQuota, type QuotaState } from '../../limits/quota-state.ts'
import { auditEntriesFrom, type AuditEntry } from '../../records/audit-store.ts'
import type { CopySource, StoredQuota, StoredUses } from '../copy.ts'
import { readsOfDays } from '../copy-days.ts'
import { recordsOn } from '../records.ts'
import { embeddedCounts } from './counts.ts'
import { keepUntil } from '../keep-until.ts'
import { applyCommand } from './apply-command.ts'
import { isClaimed } from './claim.ts'
import { openGatewayFile } from './database.ts'
import { requireGatewayFile } from './gateway-file.ts'
import { isThere } from './is-there.ts'
import { embeddedLedger } from './ledger.ts'
import { quotaFile, stateFrom } from './quota-file.ts'

const batchSize = 2_000

/** A file that is read for a copy, and the number of its damaged entries. */
type Reading = { readonly database: Database; readonly nowMs: number; damaged: number }

/**
 * A gateway's file as the source of a copy, at the moment of the call: one transaction reads everything, and
 * blocks nobody. The journal of its gateway is read as well.
 */
export function embeddedSource(file: string, clock: Clock): CopySource {
  requireGatewayFile(file)
  const database = openGatewayFile(file)
  database.exec('BEGIN')
  const reading: Reading = { database, nowMs: clock(), damaged: 0 }
  const stores = {
    ...recordsOn(embeddedCounts(database)),
    ledger: embeddedLedger(database),
  }
  return {
    name: file,
    get damaged() {
      return reading.damaged
    },
    gateways: () => Promise.resolve(isClaimed(database) ? ['a gateway'] : []),
    keyCount() {
      const count = database.prepare<[], number>(`SELECT count(*) FROM keys WHERE ${isThere}`)
      return Promise.resolve(count.pluck().get() ?? 0)
    },
    reads: {
      ...readsOfDays(stores, reading.nowMs),
      quotas: () => quotasIn(reading),
      lastUses: () => lastUsesIn(reading),
      audit: () => auditIn(reading),
      keys: () => keysIn(reading),
    },
    close() {
      database.close()
      return Promise.resolve()
    },
  }
}

/** The rows of a table, a page at a time. Each page begins behind the place of the last row before. */
async function* pagesOf<Row, Place>(
  page: (after: Place) => Row[],
  first: Place,
  placeOf: (row: Row) => Place,
): AsyncGenerator<Row[]> {
  for (let rows = page(first), last = rows.at(-1); last; last = rows.at(-1)) {
    yield rows
    rows = page(placeOf(last))
    await breathe()
  }
}

/** Reads rows of which some may be damaged. */
function intact<Row, Item>(
  reading: Reading,
  rows: readonly Row[],
  read: (row: Row) => readonly Item[],
): Item[] {
  return rows.flatMap((row) => {
    const items = read(row)
    if (items.length === 0) reading.damaged++
    return items
  })
}

async function* keysIn(reading: Reading): AsyncGenerator<StoredKey[]> {
  type Row = Readonly<{ version: number; record: string }>
  const page = reading.database.prepare<number, Row>(
    `SELECT version, record FROM keys WHERE version > ? AND ${isThere}
     ORDER BY version LIMIT ${batchSize}`,
  )
  const pages = pagesOf(
    (after: number) => page.all(after),
    0,
    ({ version }) => version,
  )
  for await (const rows of pages) {
    yield intact(reading, rows, ({ version, record }) => {
      const key = intactKeyFrom(record)
      return key ? [{ key, version }] : []
    })
  }
}

async function* quotasIn(reading: Reading): AsyncGenerator<StoredQuota[]> {
  const { database, nowMs } = reading
  const pending = pendingIn(database, nowMs)
  const entries = [...pending].map(([quota, state]) => {
    return { quota, state: withoutIds(state), keepUntilMs: keepUntil(quota, state) }
  })
  yield entries.filter(({ keepUntilMs }) => keepUntilMs > nowMs)
  for await (const rows of pagesOf(quotaFile(database).page, '', ({ quota }) => quota)) {
    const others = rows.filter(({ quota, keepUntilMs }) => {
      return !pending.has(quota) && keepUntilMs > nowMs
    })
    yield intact(reading, others, ({ quota, keepUntilMs, state: text }) => {
      const state = stateFrom(text)
      return state ? [{ quota, state: withoutIds(state), keepUntilMs }] : []
    })
  }
}

async function* lastUsesIn({ database }: Reading): AsyncGenerator<StoredUses[]> {
  const page = database.prepare<string, { key: string; uses: string }>(
    `SELECT key, uses FROM lastUses WHERE key >= ? ORDER BY key LIMIT ${batchSize}`,
  )
  // The beginning has no name, and nothing lies between a name and the same with a zero behind it.
  for await (const rows of pagesOf(
    (from: string) => page.all(from),
    '',
    ({ key }) => `${key}\0`,
  )) {
    yield rows.flatMap(({ key, uses: text }) => {
      const uses = usesFrom(text)
      return uses ? [{ key, uses }] : []
    })
  }
}

async function* auditIn(reading: Reading): AsyncGenerator<AuditEntry[]> {
  const page = reading.database.prepare<number, { seq: number; entry: string }>(
    `SELECT seq, entry FROM audit WHERE seq > ? ORDER BY seq LIMIT ${batchSize}`,
  )
  for await (const rows of pagesOf(
    (after: number) => page.all(after),
    -Infinity,
    ({ seq }) => seq,
  )) {
    yield intact(reading, rows, ({ entry }) => auditEntriesFrom(entry))
  }
}

/** Grants are known by the numbers of this file's commands, which another file gives to commands of its own. */
function withoutIds(state: QuotaState): QuotaState {
  const { grants } = state
  if (!grants) return state
  const each = grants.each.map((grant) => {
    const copy: { id?: number } & Grant = { ...grant }
    delete copy.id
    return copy
  })
  return { ...state, grants: { ...grants, each } }
}

/** The quotas that are newer than the table: those in the journal, and those of commands that no gateway has applied. */
export function pendingIn(database: Database, nowMs: number): Map<string, QuotaState> {
  const file = quotaFile(database)
  const states = file.journal()
  for (const command of file.commandsSince(file.appliedSeq())) {
    const { quota } = command
    const state = states.get(quota) ?? file.read(quota) ?? newQuota()
    applyCommand(state, command, nowMs)
    states.set(quota, state)
  }
  return states
}
