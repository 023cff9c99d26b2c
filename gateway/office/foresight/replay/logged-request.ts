import { instantFrom } from '../../../../shared/units.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { csvFields, noObject, objectFrom } from '../../../front/keys/rows.ts'
import type { Decision } from '../../../front/limits/step.ts'
import { endsAtMs, numberAt, shortest } from '../../../../shared/windows.ts'

/** A request as a log tells of it. */
export type LoggedRequest = Readonly<{
  /** When it was decided, by the store's clock; in a log of another system, its time. */
  atMs: number
  /** Its place among others: later than `atMs` if a gateway refused it from memory, by its estimate of the store's time. */
  orderMs: number
  /** The points that its shortest steady window had used then: the order of decisions in one millisecond. */
  usedInShortest: number
  /** When its answer ended: the order of the lines in a log of ours. */
  endMs: number
  key: string
  /** The plan that its key had then, in a log of ours. */
  plan: string | undefined
  /** The points that it has cost. */
  cost: number
  /** Those that it was admitted with, if its answer told the cost. */
  estimate: number | undefined
  /** Its method and path, by which a configuration tells its own cost; `undefined` if that is the logged one. */
  asked: Readonly<{ method: string; path: string }> | undefined
  /** The verdict that was logged, or `forbidden` for what cost too much; `undefined` in a log of another system. */
  verdict: Exclude<Decision['verdict'], 'unavailable'> | 'forbidden' | undefined
  isGivenBack: boolean
}>

/**
 * Why a line is left out: it isn't JSON or about a request, has no key, cost nothing, or no limits were looked at (401, or a
 * store out of reach).
 */
export type LeftOut = 'notJson' | 'others' | 'keyless' | 'free' | 'undecided'

/** A line between others that no log has, such as the words of the program that started the gateway. */
export class NotJson extends KeyMistake {}

/** The columns, or members, of a log of another system. */
type Columns = Readonly<{ time: string; key: string; cost: string }>

/** The columns that somebody has named. */
export type NamedColumns = { readonly [Column in keyof Columns]?: Columns[Column] | undefined }

/**
 * Reads one line of a log, `undefined` from one of column names. Throws a `KeyMistake` if it can't be one, a `NotJson` if
 * others may be.
 */
export type ReadLine = (text: string) => LoggedRequest | LeftOut | undefined

/**
 * Reads the lines of one log: the first one that begins like JSON or has the names of the columns says which it is. Without
 * columns, JSON lines with a `level` are the gateway's own.
 */
export function lineReader(named: NamedColumns): ReadLine {
  const isForeign = Object.values(named).some((name) => name !== undefined)
  const { time = 'time', key = 'key', cost = 'cost' } = named
  const columns = { time, key, cost }
  let read: ReadLine | undefined
  return (text) => {
    if (read) return read(text)
    if (!text.trimStart().startsWith('{')) {
      read = orNotJson(() => rowReader(csvFields(text), columns, named.cost !== undefined))
      return undefined
    }
    read = (line) => {
      const value = objectFrom(line) as Members | undefined
      if (!value) throw new NotJson(noObject)
      return !isForeign && 'level' in value ? ownRequest(value) : foreignRequest(value, columns)
    }
    return read(text)
  }
}

function orNotJson(readerOf: () => ReadLine): ReadLine {
  try {
    return readerOf()
  } catch (error) {
    throw error instanceof KeyMistake ? new NotJson(error.message) : error
  }
}

type Members = Record<string, unknown>

/** A line of ours. Only lines about answered requests have a `decision`. */
function ownRequest(value: Members): LoggedRequest | LeftOut {
  const { time, ms = 0, key, plan, decision, decidedAt, cost = 1, reason, givenBack } = value
  const { estimate } = value
  if (typeof decision !== 'string') return 'others'
  if (typeof key !== 'string') return 'keyless'
  if (typeof time !== 'number' || typeof ms !== 'number' || !isCost(cost)) {
    throw new KeyMistake('"time", "ms" and "cost" must be numbers')
  }
  if (estimate !== undefined && !isCost(estimate)) {
    throw new KeyMistake('"estimate" must be a number')
  }
  const isTooDear = decision === 'forbidden' && reason === 'cost'
  const verdict = isTooDear ? 'forbidden' : (verdicts.get(decision) ?? 'admitted')
  // Lines of a former version don't tell whether a request with another code was counted.
  const isDecided = typeof decidedAt === 'number' || verdicts.has(decision)
  if (!isDecided || reason === 'store') return 'undecided'
  const asked = cost > 0 || isTooDear || !uncounted.has(decision) ? askedBy(value) : undefined
  const isFree = cost === 0 && estimate === undefined
  if (isFree && verdict !== 'banned' && !asked) return 'free'
  const atMs = typeof decidedAt === 'number' ? decidedAt : Math.floor(time - ms)
  const ofPlan = typeof plan === 'string' ? plan : undefined
  const orderMs = value['decidedBy'] === 'memory' ? orderFrom(atMs, verdict) : atMs
  const usedInShortest = Number(value[`${shortest.name}Used`] ?? 0)
  const isGivenBack = Boolean(givenBack)
  const about = { key, plan: ofPlan, usedInShortest, cost, estimate, asked, verdict, isGivenBack }
  return { atMs, orderMs, endMs: time, ...about }
}

/** The codes of requests that may have cost nothing, whatever their route costs. */
const uncounted: ReadonlySet<string> = new Set(['forbidden', 'too_many_at_once', 'key_banned'])

function askedBy({ method, path }: Members): LoggedRequest['asked'] {
  return typeof method === 'string' && typeof path === 'string' ? { method, path } : undefined
}

/** A gateway's estimate of the store's time is behind by at most this. */
const mostBehindMs = 250

/** A refusal from memory comes after the decision that it repeats; for a limit, in the same window. */
function orderFrom(atMs: number, verdict: LoggedRequest['verdict']): number {
  const latestMs = atMs + mostBehindMs
  if (verdict === 'banned') return latestMs
  return Math.min(latestMs, endsAtMs(shortest, numberAt(shortest, atMs)) - 1)
}

/** The verdicts behind the codes of a log. Any other code of a decided request came after it was admitted. */
const verdicts: ReadonlyMap<string, NonNullable<LoggedRequest['verdict']>> = new Map([
  ['admitted', 'admitted'],
  ['rate_limit_exceeded', 'refused'],
  ['key_banned', 'banned'],
])

function rowReader(names: readonly string[], columns: Columns, needsCost: boolean): ReadLine {
  const needed = [columns.time, columns.key, ...(needsCost ? [columns.cost] : [])]
  for (const column of needed) {
    if (names.includes(column)) continue
    throw new KeyMistake(`there is no column "${column}"; there are ${names.join(', ')}`)
  }
  return (text) => {
    const fields = csvFields(text)
    if (fields.length !== names.length) {
      throw new KeyMistake(
        `it has ${fields.length} fields, but the first line names ${names.length}`,
      )
    }
    return foreignRequest(Object.fromEntries(names.map((name, i) => [name, fields[i]])), columns)
  }
}

function foreignRequest(
  value: Readonly<Record<string, unknown>>,
  columns: Columns,
): LoggedRequest | LeftOut {
  const [time, key, cost] = [value[columns.time], value[columns.key], value[columns.cost]]
  if (key === undefined || key === null || key === '') return 'keyless'
  if (typeof key !== 'string' && typeof key !== 'number') {
    throw new KeyMistake(`"${columns.key}" must be the id of a key`)
  }
  const atMs = timeFrom(time)
  if (atMs === undefined) {
    throw new KeyMistake(
      `"${columns.time}" must be a time with its zone, or seconds or milliseconds since 1970`,
    )
  }
  const points = cost === undefined || cost === null || cost === '' ? 1 : Number(cost)
  if (!isCost(points)) throw new KeyMistake(`"${columns.cost}" must be a whole number from 0 up`)
  if (points === 0) return 'free'
  const unknown = { plan: undefined, estimate: undefined, asked: undefined, verdict: undefined }
  return {
    atMs,
    orderMs: atMs,
    endMs: atMs,
    key: String(key),
    cost: points,
    ...unknown,
    usedInShortest: 0,
    isGivenBack: false,
  }
}

function isCost(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Numbers below this are seconds since 1970, those from it on milliseconds: no log is from before 1973. */
const secondsBelow = 1e11

function timeFrom(value: unknown): number | undefined {
  if (typeof value === 'string' && !/^\d+(?:\.\d+)?$/.test(value)) return instantFrom(value)
  if (value === undefined || value === null || value === '') return undefined
  const number = Number(value)
  if (!Number.isFinite(number)) return undefined
  return Math.floor(number < secondsBelow ? number * 1_000 : number)
}
