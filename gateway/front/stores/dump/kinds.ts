import { dayMs } from '../../../../shared/windows.ts'
import { intactKeyFrom, keyFrom } from '../../keys/key.ts'
import { auditStart, loadAudit } from '../../records/audit-list.ts'
import { auditEntriesFrom, type AuditEntry } from '../../records/audit-store.ts'
import { ledgerDays, type ClosedDay } from '../../records/ledger-store.ts'
import type { QuotaState } from '../../limits/quota-state.ts'
import { hashOfState, stateOfHash } from '../redis/quota-hash.ts'
import { peakSpace } from '../../counts/peak-store.ts'
import { tallySpace } from '../../counts/tally-store.ts'
import { countsOf, lastUses } from './counts.ts'
import { entriesOf, type Kind } from './kind.ts'
import type { NamedQuota } from './store.ts'

/** Quotas that are put at a time. */
const quotasAtOnce = 200

const quotas: Kind<'quotas', NamedQuota> = {
  name: 'quotas',
  shelf: 'quotas',
  atOnce: quotasAtOnce,

  async *rows(store, reading) {
    for await (const some of entriesOf(store.quotas, reading)) {
      yield some.map(([quota, state]) => ({ shelf: 'quotas', quota, fields: fieldsOf(state) }))
    }
  },

  itemsIn({ quota, fields }) {
    const state = stateOfHash(fields)
    // Nothing of it may get lost, and nothing be read otherwise than it was written.
    const isWhole = state && state.total >= 0 && textOf(fieldsOf(state)) === textOf(fields)
    return isWhole ? [{ quota, state }] : undefined
  },

  put: (store, some) => store.putQuotas(some),
}

function fieldsOf(state: QuotaState): Record<string, string> {
  const { counters, fields } = hashOfState(state)
  return Object.fromEntries([['c', counters] as const, ...fields.sort(byName)])
}

function textOf(fields: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(fields).sort(byName))
}

function byName([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : 1
}

const audit: Kind<'lists', AuditEntry> = {
  name: 'audit',
  shelf: 'lists',

  async *rows(store) {
    for (let cursor = auditStart; ;) {
      const { entries, cursor: next } = await store.audit.since(cursor)
      yield entries.map((entry) => ({ shelf: 'lists', list: 'audit', entry }))
      if (next === cursor) return
      cursor = next
    }
  },

  itemsIn: ({ entry }) => {
    const entries = auditEntriesFrom(JSON.stringify(entry))
    return entries.length > 0 ? entries : undefined
  },

  put: (store, entries) => loadAudit(store.lists, entries),
}

const ledger: Kind<'documents', ClosedDay> = {
  name: 'ledger',
  shelf: 'documents',
  atOnce: 1,

  async *rows(store, { nowMs }) {
    const today = Math.floor(nowMs / dayMs)
    for (let day = today - ledgerDays; day < today; day++) {
      const chunks = await store.ledger.chunks(day)
      if (!chunks) continue
      const texts = chunks.map((chunk) => chunk.toString('base64'))
      yield [{ shelf: 'documents', folder: 'ledger', name: String(day), texts }]
    }
  },

  itemsIn({ name, texts }) {
    const day = Number(name)
    const chunks = texts.map((text) => Buffer.from(text, 'base64'))
    const isGood =
      Number.isSafeInteger(day) &&
      String(day) === name &&
      chunks.every((chunk, i) => chunk.toString('base64') === texts[i])
    return isGood ? [{ day, chunks }] : undefined
  },

  async put(store, days) {
    for (const closed of days) {
      await store.ledger.begin(closed.day)
      await store.ledger.close(closed)
    }
  },
}

/** A key is refused behind the first one whose id or token is taken. */
export class TakenKey extends Error {
  readonly index: number
  constructor(index: number) {
    super('its id or a token of it is that of another key')
    this.index = index
  }
}

/** Keys are kept as texts until all rows are good: they take a fraction of the memory. */
const keys: Kind<'keys', string> = {
  name: 'keys',
  shelf: 'keys',

  async *rows(store, reading) {
    for await (const some of entriesOf(store.keys, reading)) {
      yield some.map(([, key]) => ({ shelf: 'keys', key }))
    }
  },

  itemsIn({ key }) {
    const record = JSON.stringify(key)
    const intact = intactKeyFrom(record)
    return intact && /^\w{1,64}$/.test(intact.id) ? [record] : undefined
  },

  async put(store, records) {
    const all = {
      length: records.length,
      *[Symbol.iterator]() {
        for (const record of records) yield keyFrom(record)
      },
    }
    const { clash } = await store.keys.add(all)
    if (clash !== undefined) throw new TakenKey(clash)
  },
}

/** All kinds, in the order in which they are dumped and loaded: no key works before its bans and counters are there. */
export const kinds = [
  quotas,
  countsOf('tallies', tallySpace),
  countsOf('peaks', peakSpace),
  ...[lastUses, audit, ledger, keys],
] as readonly Kind[]
