import { breathe } from '../../shared/breathe.ts'
import type { Clock } from '../../shared/clock.ts'
import { instantFrom } from '../../shared/units.ts'
import type { LimitSettings, Plan } from '../limits/limits.ts'
import type { KeyStore } from './store.ts'
import type { Key } from './key.ts'
import { KeyMistake } from './mistake.ts'
import { requireSound } from './settings.ts'
import { hashOf, isOurs, isWellFormed, newKeyId } from './token.ts'

/** One row of a file of keys: its texts, by column of CSV or member of JSON. */
export type Row = Readonly<{ line: number; fields: Readonly<Record<string, string>> }>

/** The number of rows that are read in one go: the gateway serves requests in between. */
const rowsAtOnce = 250

const columns = 'token sha256 plan name account perMinute perDay expires note test'.split(' ')

/** Adds the keys of a file, all or none; a `KeyMistake` names the line of the first mistake. */
export async function importKeys(
  text: string,
  options: { store: KeyStore; plans: ReadonlyMap<string, Plan>; clock: Clock },
  progress?: (written: number, total: number) => void,
): Promise<number> {
  const { store, plans, clock } = options
  const lineByHash = new Map<string, number>()
  const keys: Key[] = []
  const lines: number[] = []
  for (const row of rowsIn(text)) {
    const key = keyFromRow(row, plans, clock())
    const [{ hash = '' } = {}] = key.secrets
    const twin = lineByHash.get(hash)
    if (twin !== undefined)
      throw new KeyMistake(`line ${row.line}: its token is that of line ${twin}`)
    lineByHash.set(hash, row.line)
    lines.push(row.line)
    if (keys.push(key) % rowsAtOnce === 0) await breathe()
  }
  const { clash } = await store.add(keys, (written) => progress?.(written, keys.length))
  if (clash === undefined) return keys.length
  throw new KeyMistake(`line ${lines[clash]}: this token is in the store already`)
}

/** The rows of a text: JSON lines if it begins like JSON, else CSV with a line of column names. */
export function* rowsIn(text: string): Generator<Row> {
  let names: readonly string[] | undefined
  let isJson = false
  let count = 0
  for (const { content, line } of linesOf(text)) {
    isJson ||= names === undefined && content.trimStart().startsWith('{')
    if (isJson) {
      count++
      yield { line, fields: jsonFields(content, line) }
    } else if (names) {
      const values = placed(line, () => csvFields(content))
      if (values.length !== names.length) {
        throw new KeyMistake(
          `line ${line}: it has ${values.length} fields, but the first line names ${names.length}`,
        )
      }
      count++
      yield { line, fields: fieldsOf(names, values) }
    } else {
      names = placed(line, () => csvFields(content))
      for (const name of names) requireColumn(name, line)
    }
  }
  if (count > 0) return
  const what = names ? 'no rows below the names of its columns' : 'no rows'
  throw new KeyMistake(`the file has ${what}`)
}

function fieldsOf(names: readonly string[], values: readonly string[]): Row['fields'] {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

/** The lines of a text, without blank ones. */
function* linesOf(text: string): Generator<{ content: string; line: number }> {
  let start = text.startsWith('\ufeff') ? 1 : 0
  for (let line = 1; start <= text.length; line++) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    const content = text.slice(start, end).replace(/\r$/, '')
    if (content.trim() !== '') yield { content, line }
    start = end + 1
  }
}

function keyFromRow({ line, fields }: Row, plans: ReadonlyMap<string, Plan>, now: number): Key {
  const given = (name: string): string | undefined => fields[name] || undefined
  return placed(line, () => {
    const limits: LimitSettings = {
      perMinute: limit(given('perMinute')),
      perDay: limit(given('perDay')),
    }
    const expires = given('expires')
    const key = {
      id: newKeyId(),
      name: given('name') ?? `imported, line ${line}`,
      plan: given('plan') ?? '',
      account: given('account'),
      test: testFrom(given('test')),
      limits,
      createdAtMs: now,
      expiresAtMs: expires === undefined ? undefined : (instantFrom(expires) ?? NaN),
      note: given('note'),
      secrets: [{ hash: hashFrom(given('token'), given('sha256')) }],
    }
    requireSound(key, plans)
    return key
  })
}

/** Adds the number of the line to the message of a mistake in it. */
function placed<Result>(line: number, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof KeyMistake) throw new KeyMistake(`line ${line}: ${error.message}`)
    throw error
  }
}

/** The hash of an imported key, from a token of the other system or from its SHA-256 in hex or base64url. */
function hashFrom(token: string | undefined, sha256: string | undefined): string {
  if (token !== undefined && sha256 === undefined) {
    if (isOurs(token) && !isWellFormed(token)) {
      throw new KeyMistake(
        'a token that starts with tg_ must be one of this gateway’s own, but this one is mistyped',
      )
    }
    if (/^[A-Za-z0-9\-._~+/]{8,512}=*$/.test(token) && token.length <= 512) return hashOf(token)
    throw new KeyMistake('a token must be 8 to 512 of the characters A-Za-z0-9-._~+/')
  }
  if (sha256 !== undefined && token === undefined) {
    if (/^[0-9a-f]{64}$/i.test(sha256)) return Buffer.from(sha256, 'hex').toString('base64url')
    if (/^[\w-]{43}$/.test(sha256)) return sha256
    throw new KeyMistake('sha256 must be 64 hexadecimal digits, or 43 characters of base64url')
  }
  throw new KeyMistake('a row needs either a token or a sha256')
}

function limit(text: string | undefined): number | 'unlimited' | undefined {
  return text === undefined || text === 'unlimited' ? text : Number(text)
}

function testFrom(text: string | undefined): true | undefined {
  if (text === undefined || text === 'false') return undefined
  if (text === 'true') return true
  throw new KeyMistake(`test must be true or false, got "${text}"`)
}

function requireColumn(name: string, line: number): void {
  if (columns.includes(name)) return
  throw new KeyMistake(
    `line ${line}: there is no column "${name}"; there are ${columns.join(', ')}`,
  )
}

function jsonFields(text: string, line: number): Record<string, string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new KeyMistake(`line ${line}: this isn’t a valid JSON object`)
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => {
      requireColumn(name, line)
      const isTest = name === 'test' && typeof member === 'boolean'
      if (isTest || typeof member === 'string' || typeof member === 'number') {
        return [name, String(member)]
      }
      throw new KeyMistake(`line ${line}: ${name} must be a text or a number`)
    }),
  )
}

/**
 * The fields of a line of CSV. A field in double quotes may hold commas, and doubled quotes. It is read by hand, because
 * a regular expression tries a run of spaces again and again before it gives up.
 */
export function csvFields(text: string): string[] {
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
