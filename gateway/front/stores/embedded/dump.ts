import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { isThere } from './database.ts'
import { intactKeyFrom } from '../../keys/key.ts'
import { beginningOf } from '../../limits/counters.ts'
import { newQuota, type QuotaState } from '../../limits/quota-state.ts'
import { auditOn } from '../../records/audit-list.ts'
import { ledgerOn } from '../../records/ledger-store.ts'
import { damaged, type ReadStore } from '../dump/store.ts'
import { keepUntil } from '../keep-until.ts'
import { applyCommand } from './apply-command.ts'
import { isClaimed } from './claim.ts'
import { embeddedDocuments } from './documents.ts'
import { openToInspect, requireGatewayFile } from './gateway-file.ts'
import { embeddedLastUses } from './last-uses.ts'
import { embeddedLists } from './lists.ts'
import { quotaFile, stateFrom, type QuotaFile } from './quota-file.ts'
import { embeddedCounts } from './counts.ts'

/**
 * A gateway's file as it is at the moment of the call: one transaction reads everything, changes nothing and blocks nobody.
 * The journal of its gateway is read as well.
 */
export function readFile(file: string, clock: Clock): ReadStore {
  requireGatewayFile(file)
  const database = openToInspect(file)
  database.exec('BEGIN')
  const ids = database.prepare<[], string>(`SELECT id FROM keys WHERE ${isThere}`).pluck()
  const record = database.prepare<string, string>('SELECT record FROM keys WHERE id = ?').pluck()
  return {
    name: file,
    gateways: () => Promise.resolve(isClaimed(database) ? ['a gateway'] : []),
    keys: {
      names: () => Promise.resolve(ids.all()),
      of: (names) =>
        Promise.resolve(names.map((id) => intactKeyFrom(record.get(id) ?? '') ?? damaged)),
    },
    quotas: quotasIn(database, clock()),
    counts: embeddedCounts(database),
    lastUses: embeddedLastUses(database),
    audit: auditOn(embeddedLists(database, clock)),
    ledger: ledgerOn(embeddedDocuments(database, clock)),
    close() {
      database.close()
      return Promise.resolve()
    },
  }
}

function quotasIn(database: Database, nowMs: number): ReadStore['quotas'] {
  const file = quotaFile(database)
  const { topUps } = file
  const newer = newerQuotas(file)
  const stored = database
    .prepare<number, string>('SELECT quota FROM quotas WHERE keepUntilMs > ?')
    .pluck()
  const text = database.prepare<string, string>('SELECT state FROM quotas WHERE quota = ?').pluck()
  return {
    names() {
      const others = stored.all(nowMs).filter((quota) => !newer.has(quota))
      const ofNewer = [...newer].flatMap(([quota, state]) =>
        keepUntil(state) > nowMs ? [quota] : [],
      )
      return Promise.resolve([...others, ...ofNewer])
    },
    of: (names) =>
      Promise.resolve(
        names.map((quota) => {
          const state = newer.get(quota) ?? stateFrom(text.get(quota) ?? '')
          if (!state) return damaged
          return state.purse ? { ...state, topUps: topUps(quota) } : state
        }),
      ),
  }
}

/** The quotas that are newer than the table: those in the journal, and those of commands that no gateway has applied. */
function newerQuotas(file: QuotaFile): Map<string, QuotaState> {
  const states = file.journal()
  for (const command of file.commandsSince(file.appliedSeq())) {
    const { quota, atMs } = command
    const state = states.get(quota) ?? file.read(quota) ?? newQuota()
    // By its own time, so that another dump has the same.
    applyCommand(state, command, Math.max(atMs, beginningOf(state)))
    states.set(quota, state)
  }
  return states
}
