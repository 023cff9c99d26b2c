import type { Database } from '../../../../shared/sqlite.ts'
import type { Conduct } from '../../limits/conduct.ts'
import type { QuotaState } from '../../limits/quota-state.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { countersOf, textOf as countersText } from '../../limits/counters-text.ts'
import { grantedIn } from '../../limits/grants.ts'
import type { Counters } from '../../limits/counters.ts'
import { keepUntil } from '../keep-until.ts'
import { oldestRows, oldRows } from './old-rows.ts'
import { topUpsIn } from './top-ups.ts'

/** How long an operator's command is kept for a gateway that isn't running. */
const commandMs = 7 * dayMs

/** A command line's request to the gateway that has the counters in memory. */
export type OperatorCommand = {
  seq: number
  /** When it was given. */
  atMs: number
  what: 'reset' | 'places' | 'ban' | 'lift' | 'grant' | 'month' | 'top-up'
  quota: string
  /** The key of a ban; of a grant, its points, author and note as JSON. */
  key: string
  /** The end of a ban, the time of a grant, the day on which months begin, or the points of a top-up. */
  untilMs: number
}

type Entry = readonly [quota: string, state: QuotaState]
type Counted = Readonly<QuotaState & { quota: string }>

/** A row of the table of quotas. */
type QuotaRow = Readonly<{ quota: string; keepUntilMs: number; state: string }>

/** Rows of the table per read: 3 ms, which callers don't notice. */
const pageSize = 2_000

/**
 * The counters and commands in the gateway's file.
 *
 * Counters are first appended to a journal, and later moved to the table. Of 10,000 counters in random
 * order, 250 at a time, one takes 6.4 µs of CPU time into the table, and 0.6 µs into the journal.
 */
export type QuotaFile = ReturnType<typeof quotaFile>

export function quotaFile(database: Database) {
  const reads = readsOf(database)
  const { append, moveToTable, forget, enqueue } = writesOf(database)
  const topUps = topUpsIn(database, (quota, { id, points }, atMs) =>
    enqueue({ what: 'top-up', quota, key: id, untilMs: points, atMs }),
  )
  return {
    /** A quota by the table; `undefined` if the table doesn't have it. */
    read: (quota: string) => stateFrom(reads.one.get(quota) ?? ''),

    /** The next rows of the table after a name, in the order of names. */
    page: (after: string) => reads.page.all(after),

    /**
     * The quotas with strikes or bans among the next rows of the table after a name, and the last name of those
     * rows; `end` is `undefined` at the end of the table. Other quotas, which are nearly all, aren't parsed.
     */
    conducts(after: string) {
      const end = reads.endOfPage.get(after)
      const rows =
        end === undefined ? reads.withConductsFrom.all(after) : reads.withConductsTo.all(after, end)
      return { entries: rows.flatMap(([quota, text]) => entryFrom(quota, text)), end }
    },

    /** The latest entry of each quota in the journal. */
    journal: () =>
      new Map(
        reads.journal.all().flatMap((states) =>
          states.split('\n').flatMap((line) => {
            const end = line.indexOf('\t')
            return entryFrom(nameFromJournal(line.slice(0, end)), line.slice(end + 1))
          }),
        ),
      ),

    /** Appends counters to the journal and, if given, notes the last command that all counters reflect; one step. */
    append(counted: readonly Counted[], appliedSeq: number | undefined) {
      const lines = counted.map((state) => `${nameInJournal(state.quota)}\t${textOf(state)}`)
      append.immediate(lines.join('\n'), appliedSeq)
    },

    /** The number of the journal's last entry. */
    lastEntry: () => reads.last.get() ?? 0,

    /** Writes counters to the table. */
    moveToTable: (counted: readonly Counted[]) => void moveToTable.immediate(counted),

    /** Deletes journal entries that are in the table, and some quotas and commands that no longer matter; tells whether there may be more. */
    forget: (upToEntry: number, nowMs: number) => forget.immediate(upToEntry, nowMs),

    /** The number of the last command that the counters in the file reflect. */
    appliedSeq: () => reads.done.get() ?? 0,
    commandsSince: (seq: number) => reads.since.all(seq),
    enqueue: (command: Omit<OperatorCommand, 'seq' | 'atMs'>, nowMs: number) =>
      enqueue({ ...command, atMs: nowMs }),
    ...topUps,

    /** A number that changes with each write of another process. */
    version: () => reads.version.get(),
  }
}

function readsOf(database: Database) {
  const rowsTo = 'SELECT quota, state FROM quotas WHERE quota > ? AND quota <= ?'
  const rowsFrom = 'SELECT quota, state FROM quotas WHERE quota > ?'
  return {
    one: database.prepare<string, string>('SELECT state FROM quotas WHERE quota = ?').pluck(),
    page: database.prepare<string, QuotaRow>(
      `SELECT * FROM quotas WHERE quota > ? ORDER BY quota LIMIT ${pageSize}`,
    ),
    endOfPage: database
      .prepare<string, string>(
        `SELECT quota FROM quotas WHERE quota > ? ORDER BY quota LIMIT 1 OFFSET ${pageSize - 1}`,
      )
      .pluck(),
    withConductsTo: database
      .prepare<[string, string], [string, string]>(`${rowsTo} AND instr(state, '"conducts"') > 0`)
      .raw(),
    withConductsFrom: database
      .prepare<[string], [string, string]>(`${rowsFrom} AND instr(state, '"conducts"') > 0`)
      .raw(),
    journal: database.prepare<[], string>('SELECT states FROM journal ORDER BY seq').pluck(),
    last: database.prepare<[], number>('SELECT max(seq) FROM journal').pluck(),
    done: database.prepare<[], number>('SELECT seq FROM commandsDone').pluck(),
    since: database.prepare<number, OperatorCommand>(
      'SELECT * FROM commands WHERE seq > ? ORDER BY seq',
    ),
    version: database.prepare('PRAGMA data_version').pluck(),
  }
}

function writesOf(database: Database) {
  const note = database.prepare('INSERT INTO journal (states) VALUES (?)')
  const put = database.prepare('INSERT OR REPLACE INTO quotas VALUES (?, ?, ?)')
  const forgetEntries = database.prepare('DELETE FROM journal WHERE seq <= ?')
  const isOld = 'keepUntilMs < ?'
  const forgetQuotas = oldRows(database, { table: 'quotas', key: 'quota', isOld })
  const forgetCommands = oldestRows(database, 'commands', 'atMs')
  const setDone = database.prepare('UPDATE commandsDone SET seq = ?')
  const insert = database.prepare(
    `INSERT INTO commands (atMs, what, quota, key, untilMs)
     VALUES (:atMs, :what, :quota, :key, :untilMs)`,
  )
  const enqueue = (command: Omit<OperatorCommand, 'seq'>): void => void insert.run(command)
  const append = database.transaction((text: string, appliedSeq: number | undefined) => {
    if (text !== '') note.run(text)
    if (appliedSeq !== undefined) setDone.run(appliedSeq)
  })
  const moveToTable = database.transaction((counted: readonly Counted[]) => {
    for (const state of counted) put.run(state.quota, keepUntil(state), textOf(state))
  })
  const forget = database.transaction((upToEntry: number, nowMs: number) => {
    forgetEntries.run(upToEntry)
    return [forgetQuotas(nowMs), forgetCommands(nowMs - commandMs)].includes(true)
  })
  return { append, moveToTable, forget, enqueue }
}

/** A quota's name in the journal: plain, or as JSON if that could be misread. Apps count under names that strangers choose. */
function nameInJournal(quota: string): string {
  return /[\t\n"]/.test(quota) ? JSON.stringify(quota) : quota
}

function nameFromJournal(text: string): string {
  return text.startsWith('"') ? String(JSON.parse(text)) : text
}

/** What few quotas have, as it stands behind their counters. */
type Rest = Pick<QuotaState, 'grants' | 'past' | 'beyond' | 'purse' | 'resetGeneration'> & {
  conducts?: [string, Conduct][] | undefined
  parts?: [string, Counters][] | undefined
}

/** The counters of a quota, and behind them the rest as JSON, if there is any. */
export function textOf(state: QuotaState): string {
  const { conducts, past, parts, resetGeneration, beyond, purse } = state
  const numbers = countersText(state)
  // Grants end with their windows.
  const grants = state.grants && grantedIn(state.grants, state) ? state.grants : undefined
  if (!conducts && !grants && !past && !parts && !resetGeneration && !beyond && !purse)
    return numbers
  const rest: Rest = {
    ...{ conducts: conducts && [...conducts], grants, past },
    ...{ parts: parts && [...parts], resetGeneration, beyond, purse },
  }
  return `${numbers},${JSON.stringify(rest)}`
}

function entryFrom(quota: string, text: string): Entry[] {
  const state = stateFrom(text)
  return state ? [[quota, state]] : []
}

/** `undefined` for a damaged text: the quota then begins anew, and no other one suffers. */
export function stateFrom(text: string): QuotaState | undefined {
  try {
    const members = JSON.parse(`[${text}]`) as (number | Rest)[]
    const last = members.at(-1)
    const { conducts, parts, ...rest } = typeof last === 'object' ? last : {}
    const counters = countersOf(members.filter((member) => typeof member === 'number'))
    return (
      counters && {
        ...rest,
        ...counters,
        conducts: conducts && conducts.length > 0 ? new Map(conducts) : undefined,
        ...(parts && { parts: new Map(parts) }),
      }
    )
  } catch {
    return undefined
  }
}
