import type { Clock } from '../../../../shared/clock.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom } from '../../keys/record.ts'
import type { Grant } from '../../limits/grants.ts'
import { newQuota, type QuotaState } from '../../limits/step.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { auditEntriesFrom } from '../../records/audit-store.ts'
import { usesFrom } from '../../keys/last-use-store.ts'
import type { CopySource, StoredQuota } from '../copy.ts'
import { keepUntil } from '../keep-until.ts'
import { closedDays } from '../closed-days.ts'
import { rememberedDays, type Tally } from '../../counts/tally-store.ts'
import { requireGatewayFile } from './gateway-file.ts'
import { breathe } from '../../../../shared/breathe.ts'
import { isClaimed } from './claim.ts'
import { openGatewayFile } from './database.ts'
import { applyCommand } from './apply-command.ts'
import { embeddedLedger } from './ledger.ts'
import { embeddedPeaks } from './peaks.ts'
import { quotaFile, stateFrom } from './quota-file.ts'
import { embeddedTallies } from './tallies.ts'
import { isThere } from './is-there.ts'

const batchSize = 2_000

type KeyRow = Readonly<{ version: number; record: string }>

/**
 * A gateway's file as the source of a copy, at the moment of the call: one transaction reads everything, and
 * blocks nobody. The journal of its gateway is read as well.
 */
export function embeddedSource(file: string, clock: Clock): CopySource {
  requireGatewayFile(file)
  const database = openGatewayFile(file)
  database.exec('BEGIN')
  let damaged = 0

  return {
    name: file,

    get damaged() {
      return damaged
    },

    gateways: () => Promise.resolve(isClaimed(database) ? ['a gateway'] : []),

    keyCount() {
      const count = database.prepare<[], number>(`SELECT count(*) FROM keys WHERE ${isThere}`)
      return Promise.resolve(count.pluck().get() ?? 0)
    },

    async *keys() {
      const page = database.prepare<number, KeyRow>(
        `SELECT version, record FROM keys WHERE version > ? AND ${isThere}
         ORDER BY version LIMIT ${batchSize}`,
      )
      for (let rows = page.all(0), last = rows.at(-1); last; last = rows.at(-1)) {
        const keys = rows.flatMap(({ version, record }) => {
          const key = intactKeyFrom(record)
          return key ? [{ key, version }] : []
        })
        damaged += rows.length - keys.length
        yield keys
        rows = page.all(last.version)
        await breathe()
      }
    },

    async *quotas() {
      const nowMs = clock()
      const pending = new Map(pendingIn(database, nowMs))
      const entries = [...pending].map(([quota, state]) => {
        return { quota, state: withoutIds(state), keepUntilMs: keepUntil(quota, state) }
      })
      yield entries.filter(({ keepUntilMs }) => keepUntilMs > nowMs)
      const { page } = quotaFile(database)
      for (let rows = page(''), last = rows.at(-1); last; last = rows.at(-1)) {
        const quotas: StoredQuota[] = []
        for (const { quota, keepUntilMs, state: text } of rows) {
          if (pending.has(quota) || keepUntilMs <= nowMs) continue
          const state = stateFrom(text)
          if (state) quotas.push({ quota, state: withoutIds(state), keepUntilMs })
          else damaged++
        }
        yield quotas
        rows = page(last.quota)
        await breathe()
      }
    },

    async *tallies() {
      const today = Math.floor(clock() / dayMs)
      let batch: Tally[] = []
      for await (const tally of embeddedTallies(database).list(today - rememberedDays + 1, today)) {
        if (batch.push(tally) < batchSize) continue
        yield batch
        batch = []
      }
      yield batch
    },

    async *peaks() {
      const today = Math.floor(clock() / dayMs)
      yield* embeddedPeaks(database).list(today - rememberedDays + 1, today)
    },

    ledger: () => closedDays(embeddedLedger(database), clock()),

    async *lastUses() {
      const page = database.prepare<string, { key: string; uses: string }>(
        `SELECT key, uses FROM lastUses WHERE key >= ? ORDER BY key LIMIT ${batchSize}`,
      )
      for (let from = ''; ;) {
        const rows = page.all(from)
        yield rows.flatMap(({ key, uses: text }) => {
          const uses = usesFrom(text)
          return uses ? [{ key, uses }] : []
        })
        if (rows.length < batchSize) return
        from = rows.at(-1)?.key ?? ''
        await breathe()
      }
    },

    async *audit() {
      const page = database.prepare<number, { seq: number; entry: string }>(
        `SELECT seq, entry FROM audit WHERE seq > ? ORDER BY seq LIMIT ${batchSize}`,
      )
      for (let rows = page.all(-Infinity), last = rows.at(-1); last; last = rows.at(-1)) {
        const entries = rows.flatMap(({ entry }) => auditEntriesFrom(entry))
        damaged += rows.length - entries.length
        yield entries
        rows = page.all(last.seq)
        await breathe()
      }
    },

    close() {
      database.close()
      return Promise.resolve()
    },
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
