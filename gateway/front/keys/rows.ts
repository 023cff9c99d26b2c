import { withCommas } from '../../../shared/commas.ts'
import { limitSettings } from '../limits/limit-settings.ts'
import { readerOf, Type } from '../../../shared/schema.ts'
import { KeyMistake } from './mistake.ts'

/** A text in pieces, which are cut anywhere. */
export type Text = Iterable<string>

/** One row of a file of keys: its texts, by column of CSV or member of JSON. */
export type Row = Readonly<{ line: number; fields: Readonly<Record<string, string>> }>

/** Takes a mistake in a line, whose row is left out then. */
type Wrong = (line: number, message: string) => void

/** The most characters of a line that comes in pieces. */
const longestLine = 1_000_000

/** The columns of a new key's settings. */
export const settingColumns = [
  ...['plan', 'name', 'account'],
  ...limitSettings,
  ...['expires', 'note', 'test', 'reference', 'scopes', 'origins'],
]

/** The columns of an imported key. */
const importColumns = ['token', 'sha256', ...settingColumns]

/**
 * The rows of a text: JSON lines if it begins like JSON, else CSV with a line of column names. A blank line is
 * `undefined`, so that who takes breath between lines sees them all. Without `wrong`, the first mistake is thrown.
 */
export function* rowsIn(text: Text, wrong: Wrong = refuse): Generator<Row | undefined> {
  let names: readonly string[] | undefined
  let isJson = false
  let count = 0
  for (const { content, line } of linesOf(text)) {
    if (content.trim() === '') {
      yield undefined
      continue
    }
    isJson ||= names === undefined && content.trimStart().startsWith('{')
    const isHead = !isJson && names === undefined
    try {
      if (isHead) {
        names = csvFields(content)
        requireColumns(names)
        continue
      }
      count++
      const fields = names ? rowOf(names, csvFields(content)) : jsonFields(content)
      yield { line, fields }
    } catch (error) {
      if (!(error instanceof KeyMistake)) throw error
      wrong(line, error.message)
      // Without its columns no row means anything.
      if (isHead) return
    }
  }
  if (count > 0) return
  const what = names ? 'no rows below the names of its columns' : 'no rows'
  throw new KeyMistake(`the file has ${what}`)
}

function refuse(line: number, message: string): never {
  throw new KeyMistake(`line ${line}: ${message}`)
}

/** The lines of a text, with their numbers. */
function* linesOf(text: Text): Generator<{ content: string; line: number }> {
  let line = 1
  let begun = ''
  for (const piece of text) {
    requireShort(begun, line)
    let start = line === 1 && begun === '' && piece.startsWith('\ufeff') ? 1 : 0
    for (let end = piece.indexOf('\n', start); end >= 0; end = piece.indexOf('\n', start)) {
      yield { content: withoutReturn(begun + piece.slice(start, end)), line: line++ }
      begun = ''
      start = end + 1
    }
    begun += piece.slice(start)
  }
  yield { content: withoutReturn(begun), line }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

/** No row is that long, and a line of 64 MB would hold callers up. */
function requireShort({ length }: string, line: number): void {
  if (length > longestLine) {
    throw new KeyMistake(`line ${line} is longer than ${withCommas(longestLine)} characters`)
  }
}

function rowOf(names: readonly string[], values: readonly string[]): Row['fields'] {
  if (values.length === names.length) {
    return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
  }
  throw new KeyMistake(`it has ${values.length} fields, but the first line names ${names.length}`)
}

function requireColumns(names: readonly string[]): void {
  const unknown = names.find((name) => !importColumns.includes(name))
  if (unknown === undefined) return
  throw new KeyMistake(`there is no column "${unknown}"; there are ${importColumns.join(', ')}`)
}

/** The object of a line of JSON; `undefined` if it isn't one. */
const objectFrom: (text: string) => object | undefined = readerOf(Type.Object({}))

function jsonFields(text: string): Row['fields'] {
  const value = objectFrom(text)
  if (!value) throw new KeyMistake('this isn’t a valid JSON object')
  requireColumns(Object.keys(value))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => {
      const isTest = name === 'test' && typeof member === 'boolean'
      if (isTest || typeof member === 'string' || typeof member === 'number') {
        return [name, String(member)]
      }
      throw new KeyMistake(`${name} must be a text or a number`)
    }),
  )
}

/**
 * The fields of a line of CSV. A field in double quotes may hold commas, and doubled quotes. It is read by hand, because
 * a regular expression tries a run of spaces again and again before it gives up.
 */
function csvFields(text: string): string[] {
  const fields: string[] = []
  for (let at = 0; ; at++) {
    const [field, end] = text[skipSpace(text, at)] === '"' ? quoted(text, at) : plain(text, at)
    if (end < text.length && text[end] !== ',') {
      throw new KeyMistake('a quote opens or closes in the wrong place')
    }
    fields.push(field.trim())
    if (end === text.length) return fields
    at = end
  }
}

type Field = readonly [text: string, end: number]

/** A field without quotes, and its end: a comma, the end of the line, or a quote in the wrong place. */
function plain(text: string, start: number): Field {
  let end = start
  while (end < text.length && text[end] !== ',' && text[end] !== '"') end++
  return [text.slice(start, end), end]
}

/** A field in quotes, and its end after trailing white space. A field that is never closed ends at its own quote. */
function quoted(text: string, start: number): Field {
  const opening = skipSpace(text, start)
  let closing = text.indexOf('"', opening + 1)
  while (closing >= 0 && text[closing + 1] === '"') closing = text.indexOf('"', closing + 2)
  if (closing < 0) return ['', opening]
  const field = text.slice(opening + 1, closing).replaceAll('""', '"')
  return [field, skipSpace(text, closing + 1)]
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (at < text.length && text.charAt(at).trim() === '') at++
  return at
}
