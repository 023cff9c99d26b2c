import type { Database } from '../../../shared/sqlite.ts'
import { dayMs, type Conduct, type QuotaState } from '../../limits/step.ts'
import { keepUntil } from '../kept.ts'

/** How long an order of an operator is kept for a gateway that doesn't run. */
const orderMs = 7 * dayMs

/** What a command line asks the gateway that has the counters in memory to do. */
export type Order = {
  seq: number
  what: 'reset' | 'ban' | 'lift'
  quota: string
  key: string
  untilMs: number
}

export type Entry = readonly [quota: string, state: QuotaState]
type Counted = Readonly<QuotaState & { quota: string }>

/** A row of the table of quotas. */
export type KeptRow = Readonly<{ quota: string; keepUntilMs: number; state: string }>

/** How many rows of the table are looked at in one go: 3 ms, of which callers see nothing. */
const pageSize = 2_000

/**
 * Counters and orders as they stand in the gateway's file.
 *
 * What was counted is first written into a journal, in the order in which it comes, and later to its
 * place in the table: of 10,000 counters in no order, 250 at a time, one takes 6.4 µs of processor time to
 * its place, and 0.6 µs into the journal.
 */
export type QuotaFile = Readonly<{
  /** A quota as it stands in the table. */
  read: (quota: string) => QuotaState | undefined
  /** Some quotas of the table, in the order of their names, those after a name. */
  page: (after: string) => KeptRow[]
  /**
   * Those of a stretch of the table whose keys have behaved in some way worth a note, and the name at which it ends;
   * without an end it is the last stretch. The others, which are nearly all, are not parsed.
   */
  conducts: (after: string) => Readonly<{ entries: Entry[]; end: string | undefined }>
  /** What the journal says of quotas, the latest of each. */
  journal: () => Map<string, QuotaState>
  /** Adds counters to the journal and, where it is given, up to which order all of them follow, in one step. */
  append: (counted: readonly Counted[], doneSeq: number | undefined) => void
  /** The number of the journal's last entry. */
  lastEntry: () => number
  /** Writes counters to their places. */
  place: (counted: readonly Counted[]) => void
  /** Forgets entries of the journal that are in their places, and what can't matter any more. */
  forget: (upToEntry: number, nowMs: number) => void
  /** Up to which order the counters in the file have followed. */
  doneSeq: () => number
  ordersSince: (seq: number) => Order[]
  leave: (order: Omit<Order, 'seq'>, nowMs: number) => void
  /** Another number after each change by another process. */
  version: () => unknown
}>

export function quotaFile(database: Database): QuotaFile {
  const one = database.prepare<string, string>('SELECT state FROM quotas WHERE quota = ?').pluck()
  const page = database.prepare<string, KeptRow>(
    `SELECT * FROM quotas WHERE quota > ? ORDER BY quota LIMIT ${pageSize}`,
  )
  const endOfStretch = database
    .prepare<string, string>(
      `SELECT quota FROM quotas WHERE quota > ? ORDER BY quota LIMIT 1 OFFSET ${pageSize - 1}`,
    )
    .pluck()
  const rowsTo = 'SELECT quota, state FROM quotas WHERE quota > ? AND quota <= ?'
  const rowsFrom = 'SELECT quota, state FROM quotas WHERE quota > ?'
  // Numbers alone have no bracket.
  const notedTo = database
    .prepare<[string, string], [string, string]>(`${rowsTo} AND instr(state, '[') > 0`)
    .raw()
  const notedFrom = database
    .prepare<[string], [string, string]>(`${rowsFrom} AND instr(state, '[') > 0`)
    .raw()
  const journal = database.prepare<[], string>('SELECT states FROM journal ORDER BY seq').pluck()
  const last = database.prepare<[], number>('SELECT max(seq) FROM journal').pluck()
  const done = database.prepare<[], number>('SELECT seq FROM ordersDone').pluck()
  const since = database.prepare<number, Order>('SELECT * FROM orders WHERE seq > ? ORDER BY seq')
  const version = database.prepare('PRAGMA data_version').pluck()
  const note = database.prepare('INSERT INTO journal (states) VALUES (?)')
  const put = database.prepare('INSERT OR REPLACE INTO quotas VALUES (?, ?, ?)')
  const forgetEntries = database.prepare('DELETE FROM journal WHERE seq <= ?')
  const forgetQuotas = database.prepare('DELETE FROM quotas WHERE keepUntilMs < ?')
  const forgetOrders = database.prepare('DELETE FROM orders WHERE leftAtMs < ?')
  const setDone = database.prepare('UPDATE ordersDone SET seq = ?')
  const leave = database.prepare(
    `INSERT INTO orders (leftAtMs, what, quota, key, untilMs)
     VALUES (:leftAtMs, :what, :quota, :key, :untilMs)`,
  )
  const append = database.transaction((text: string, doneSeq: number | undefined) => {
    if (text !== '') note.run(text)
    if (doneSeq !== undefined) setDone.run(doneSeq)
  })
  const place = database.transaction((counted: readonly Counted[]) => {
    for (const state of counted) put.run(state.quota, keepUntil(state), textOf(state))
  })
  const forget = database.transaction((upToEntry: number, nowMs: number) => {
    forgetEntries.run(upToEntry)
    forgetQuotas.run(nowMs)
    forgetOrders.run(nowMs - orderMs)
  })
  return {
    read: (quota) => stateFrom(one.get(quota) ?? ''),
    page: (after) => page.all(after),
    conducts: (after) => {
      const end = endOfStretch.get(after)
      const rows = end === undefined ? notedFrom.all(after) : notedTo.all(after, end)
      return { entries: rows.flatMap(([quota, text]) => entryFrom(quota, text)), end }
    },
    journal: () =>
      new Map(
        journal.all().flatMap((states) =>
          states.split('\n').flatMap((line) => {
            const end = line.indexOf('\t')
            return entryFrom(journaledName(line.slice(0, end)), line.slice(end + 1))
          }),
        ),
      ),
    append: (counted, doneSeq) => {
      const lines = counted.map((state) => `${nameInJournal(state.quota)}\t${textOf(state)}`)
      append.immediate(lines.join('\n'), doneSeq)
    },
    lastEntry: () => last.get() ?? 0,
    place: (counted) => void place.immediate(counted),
    forget: (upToEntry, nowMs) => void forget.immediate(upToEntry, nowMs),
    doneSeq: () => done.get() ?? 0,
    ordersSince: (seq) => since.all(seq),
    leave: (order, nowMs) => void leave.run({ ...order, leftAtMs: nowMs }),
    version: () => version.get(),
  }
}

/**
 * A quota's name as the journal has it: as it is, which an older version reads as well, or as JSON if it
 * could be taken for anything else there. Apps count under names that strangers choose.
 */
function nameInJournal(quota: string): string {
  return /[\t\n"]/.test(quota) ? JSON.stringify(quota) : quota
}

/** What an older version wrote begins with a quotation mark only where an app chose such a name. */
function journaledName(text: string): string {
  if (!text.startsWith('"')) return text
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}

/** The numbers of a quota, and how its keys have behaved where there is something to say. */
export function textOf(state: QuotaState): string {
  const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, conducts } = state
  const numbers = `${minute},${minuteUsed},${day},${dayUsed},${dayGivenBack},${generation}`
  return conducts ? `${numbers},${JSON.stringify([...conducts])}` : numbers
}

function entryFrom(quota: string, text: string): Entry[] {
  const state = stateFrom(text)
  return state ? [[quota, state]] : []
}

/** What is damaged counts as none: its quota begins anew, and hurts no other. */
export function stateFrom(text: string): QuotaState | undefined {
  try {
    const [minute, minuteUsed, day, dayUsed, dayGivenBack, generation, conducts] = JSON.parse(
      `[${text}]`,
    ) as [number, number, number, number, number, number, [string, Conduct][]?]
    const counters = { minute, minuteUsed, day, dayUsed, dayGivenBack, generation }
    if (!Object.values(counters).every(Number.isSafeInteger)) return undefined
    return { ...counters, conducts: conducts && new Map(conducts) }
  } catch {
    return undefined
  }
}
