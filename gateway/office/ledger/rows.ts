import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { rareFigures } from '../../front/counts/use.ts'

/** Counts of requests that were admitted and refused, points less those that were given back, and the points that few have. */
export const figureNames = ['requests', 'points', ...rareFigures, 'refused'] as const

export type Figures = Record<(typeof figureNames)[number], number>

export function noFigures(): Figures {
  return { requests: 0, points: 0, estimated: 0, beyond: 0, refused: 0 }
}

/** The figures of anything that has them. */
export function figuresOf(of: Readonly<Figures>): Figures {
  const { requests, points, estimated, beyond, refused } = of
  return { requests, points, estimated, beyond, refused }
}

export function addFigures(sum: Figures, more: Readonly<Figures>): void {
  for (const name of figureNames) sum[name] += more[name]
}

/** The figures of a key in an account, by the usage that gateways have written down. */
export type KeyFigures = Readonly<Figures & { key: string }>

/** A quota on one day. Its points, and those of them that are beyond, are those that its counters have, the others what gateways have written down. */
export type LedgerRow = Readonly<
  Figures & {
    quota: string
    /** The plan of its keys at the end of the day; several, in their order, with commas between them. */
    plan: string
    /** Its keys that were used, by their ids. */
    keys: readonly KeyFigures[]
  }
>

/** Rows per chunk: some 3 ms to read. */
const rowsPerChunk = 2_000

const keyPrefix = 'key:'

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)]

/** The members of rows, each by itself: alike values side by side take half the space that rows take. */
type Columns<Row> = { readonly [Name in keyof Row]?: readonly Row[Name][] }

/** A row with the number of its keys, which are in columns of their own. A key's own quota has none. */
const noRow = { quota: '', plan: '', ...noFigures(), keys: 0 }
const noKey: KeyFigures = { key: '', ...noFigures() }

type Chunk = Readonly<{ rows: Columns<typeof noRow>; keys: Columns<KeyFigures> }>

/** Rows in chunks for a store. */
export async function packed(rows: readonly LedgerRow[]): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for (let start = 0; start < rows.length; start += rowsPerChunk) {
    const some = rows.slice(start, start + rowsPerChunk)
    const keysOf = ({ quota, keys }: LedgerRow) => (quota.startsWith(keyPrefix) ? [] : keys)
    const counted = some.map((row) => ({ ...row, keys: keysOf(row).length }))
    const chunk: Chunk = {
      rows: columnsOf(counted, noRow),
      keys: columnsOf(some.flatMap(keysOf), noKey),
    }
    chunks.push(await deflate(JSON.stringify(chunk), { level: 9 }))
  }
  return chunks
}

/** The rows of a chunk. */
export async function unpacked(chunk: Buffer): Promise<LedgerRow[]> {
  const columns = JSON.parse((await inflate(chunk)).toString()) as Chunk
  const keys = rowsOf(columns.keys, noKey)
  let key = 0
  return rowsOf(columns.rows, noRow).map((row) => {
    const own = ownKey(row.quota, figuresOf(row))
    return { ...row, keys: own.length > 0 ? own : keys.slice(key, (key += row.keys)) }
  })
}

/** Columns of rows. One without anything is left out. */
function columnsOf<Row extends object>(rows: readonly Row[], nothing: Row): Columns<Row> {
  const columns: { -readonly [Name in keyof Row]?: Row[Name][] } = {}
  for (const name of Object.keys(nothing) as (keyof Row)[]) {
    const column = rows.map((row) => row[name])
    if (column.some((value) => value !== nothing[name])) columns[name] = column
  }
  return columns
}

function rowsOf<Row extends object>(columns: Columns<Row>, nothing: Row): Row[] {
  const names = Object.keys(nothing) as (keyof Row)[]
  const length = Math.max(...names.map((name) => columns[name]?.length ?? 0))
  return Array.from({ length }, (_, i) => {
    const row = { ...nothing }
    for (const name of names) row[name] = columns[name]?.[i] ?? nothing[name]
    return row
  })
}

/** The key of a quota of its own, which has all of it. */
export function ownKey(quota: string, figures: Figures): KeyFigures[] {
  return quota.startsWith(keyPrefix) ? [{ key: quota.slice(keyPrefix.length), ...figures }] : []
}
