import { int64From } from './int64.ts'

/** A JSON object, with the text of its members. */
export type JsonObject = Readonly<{
  /** The members. A whole number in plain digits is a bigint, exact over all of int64. */
  members: Readonly<Record<string, unknown>>
  /** The text of each member's value, for messages. */
  source: ReadonlyMap<string, string>
}>

/** The most levels of objects and lists in a body, the outermost one included. */
const mostLevels = 32

/**
 * Reads a JSON text whose top level is an object. Throws a `SyntaxError` with a sentence for the
 * sender if the text isn't JSON, isn't an object, has too many levels, or names a member twice.
 *
 * Walks the text before `JSON.parse`, which takes long for many brackets. The members found on the way are used only if
 * the text is valid JSON.
 */
export function parseJsonObject(text: string): JsonObject {
  const written = membersIn(text)
  const members = parse(text)
  const source = new Map<string, string>()
  for (const [quoted, raw] of written) {
    const name = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
    if (source.has(name)) throw new SyntaxError(`The body names ${shown(name)} twice.`)
    source.set(name, raw)
    const exact = int64From(raw)
    // The member exists already, so even `__proto__` calls no setter.
    if (exact !== undefined) members[name] = exact
  }
  return { members, source }
}

function parse(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new SyntaxError('The body is not valid JSON.')
  }
  if (!isObject(value)) throw new SyntaxError('The body must be a JSON object.')
  return value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const [quote, colon] = [0x22, 0x3a]
const [backslash, comma] = [0x5c, 0x2c]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The texts of the outermost object's members: quoted names, and values. */
function membersIn(text: string): [name: string, value: string][] {
  const members: [string, string][] = []
  let levels = 0
  let name = ''
  let valueAt = -1
  walkJson(text, (code, from, end) => {
    if (code === quote) {
      if (levels === 1 && valueAt < 0) name = text.slice(from, end)
    } else if (opens(code)) {
      if (++levels > mostLevels) {
        throw new SyntaxError(`The body has more than ${mostLevels} levels of objects and lists.`)
      }
    } else if (code === colon) {
      if (levels === 1 && valueAt < 0) valueAt = end
    } else {
      if (levels === 1 && valueAt >= 0) {
        members.push([name, text.slice(valueAt, from).trim()])
        valueAt = -1
      }
      if (code !== comma) levels--
    }
  })
  return members
}

/** The most levels of objects and lists of a text, and the most names of members. */
export type JsonBounds = Readonly<{ levels: number; names?: number }>

/**
 * The value of a JSON text that somebody else has written; `undefined` if it isn't JSON, or is beyond bounds: `JSON.parse`
 * takes 0.5 s for a MiB of brackets. Such a text is no fault of ours, and a stack would cost more than to read a short one.
 */
export function jsonFrom(text: string, bounds: JsonBounds): unknown {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return isWithin(text, bounds) ? (JSON.parse(text) as unknown) : undefined
  } catch {
    return undefined
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function isWithin(text: string, { levels, names = Infinity }: JsonBounds): boolean {
  let [level, deepest, count] = [0, 0, 0]
  walkJson(text, (code) => {
    if (opens(code)) deepest = Math.max(deepest, ++level)
    else if (closes(code)) level--
    else if (code === colon) count++
  })
  return deepest <= levels && count <= names
}

/** Calls `visit` for each text, bracket, comma and colon of what may be JSON, from left to right, in one pass. */
export function walkJson(
  text: string,
  visit: (code: number, from: number, end: number) => void,
): void {
  for (let i = 0; i < text.length; i++) {
    const from = i
    const code = text.charCodeAt(i)
    if (code === quote) i = endOfString(text, i)
    if (code === quote || code === comma || code === colon || opens(code) || closes(code)) {
      visit(code, from, i + 1)
    }
  }
}

export function opens(code: number): boolean {
  return code === openBrace || code === openBracket
}

export function closes(code: number): boolean {
  return code === closeBrace || code === closeBracket
}

/** The end of a string that begins at a quote: its closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === backslash) i++
    else if (code === quote) return i
  }
  return text.length
}

/** A sender's text for a message: quoted, and cut if it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
