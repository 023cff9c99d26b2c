import { isOf } from '../../../../shared/schema.ts'
import { endSchema, format, headSchema, schemaOfShelf, type Row } from './rows.ts'

/** The most bytes of a line. An account with 100,000 keys has lines of some MB. */
const mostBytes = 32 * 2 ** 20

/** Rows that are given at a time. */
const rowsAtOnce = 1_000

/** Why a dump is refused, with its line. */
export class DumpFault extends Error {
  constructor(line: number, why: string) {
    super(`line ${line} of the dump: ${why}`)
  }
}

/** The rows of a dump, some at a time; throws at the first line that can't be one of it, and if its end is missing. */
export async function* rowsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Row[]> {
  let line = 0
  let isOver = false
  let rows: Row[] = []
  for await (const text of linesIn(bytes)) {
    line++
    const value = valueOf(text, line)
    if (line === 1) requireHead(value)
    else if (isOver) throw new DumpFault(line, 'something is behind the end')
    else if (isEnd(value, line)) isOver = true
    else rows.push(rowFrom(value, line))
    if (rows.length < rowsAtOnce) continue
    yield rows
    rows = []
  }
  if (!isOver) throw new DumpFault(line + 1, 'the end is missing, so that something may be lost')
  yield rows
}

async function* linesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = []
  let length = 0
  let line = 1
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const rest = chunk.subarray(from, end)
      yield pieces.length > 0 ? Buffer.concat([...pieces, rest]) : rest
      line++
      ;[pieces, length, from] = [[], 0, end + 1]
    }
    pieces.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > mostBytes) throw new DumpFault(line, `it is longer than ${mostBytes} bytes`)
  }
  if (length > 0) yield Buffer.concat(pieces)
}

const newline = 10

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function valueOf(text: Uint8Array, line: number): unknown {
  try {
    return JSON.parse(decoder.decode(text))
  } catch {
    throw new DumpFault(line, line === 1 ? notOne : 'it isn’t JSON in UTF-8')
  }
}

const notOne = 'a dump begins with { "tollgate": "dump", "format": … }'

function requireHead(value: unknown): void {
  if (!isOf(headSchema, value)) throw new DumpFault(1, notOne)
  if (value.format === format) return
  const has = `it has format ${value.format}, and this version of Tollgate knows format ${format} alone`
  throw new DumpFault(1, `${has}: load it with the version that wrote it`)
}

function isEnd(value: unknown, line: number): boolean {
  if (!isOf(endSchema, value)) return false
  const count = line - 2
  if (value.rows === count) return true
  throw new DumpFault(line, `it tells of ${value.rows} rows, and ${count} are there`)
}

function rowFrom(value: unknown, line: number): Row {
  const shelf = typeof value === 'object' && value !== null && 'shelf' in value && value.shelf
  const schema = schemaOfShelf.get(shelf)
  if (!schema) throw new DumpFault(line, `${shown(shelf)} is no shelf that this version knows`)
  if (!isOf(schema, value)) throw new DumpFault(line, 'the row is damaged')
  return value as Row
}

function shown(shelf: unknown): string {
  return typeof shelf === 'string' ? JSON.stringify(shelf.slice(0, 40)) : 'a row without a shelf'
}
