import { int64From } from './int64.ts'

/** A JSON object as its sender wrote it. */
export type JsonObject = Readonly<{
  /** The members. A whole number in plain digits is a bigint, exact over all of int64. */
  members: Readonly<Record<string, unknown>>
  /** What stands in the text for a member, for messages that must show it. */
  source: ReadonlyMap<string, string>
}>

/**
 * Reads a JSON text whose top level is an object. Throws a `SyntaxError` with a sentence for the
 * sender if the text isn't JSON, isn't an object, or names a member twice.
 *
 * `JSON.parse` judges the syntax, so the walk over the text that finds the digits may trust it.
 */
export function parseJsonObject(text: string): JsonObject {
  const members = parse(text)
  const source = new Map<string, string>()
  for (const [name, raw] of topLevelMembers(text)) {
    if (source.has(name)) throw new SyntaxError(`The body names ${shown(name)} twice.`)
    source.set(name, raw)
    const exact = int64From(raw)
    // An own member already, even if it is called __proto__: no setter can be met here.
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

/** Names and raw values of the outermost object of a text that is known to be valid JSON. */
function* topLevelMembers(text: string): Generator<[string, string]> {
  const token = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs
  let depth = 0
  let name: string | undefined
  let start = -1
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [word] = found
    const ends = word === '}' || word === ']'
    if (ends) depth--
    if ((depth === 0 || (depth === 1 && word === ',')) && name !== undefined) {
      yield [name, text.slice(start, found.index).trim()]
      name = undefined
    } else if (depth === 1 && word === ':') {
      start = token.lastIndex
    } else if (depth === 1 && !ends && start < 0) {
      name = String(JSON.parse(word))
    }
    if (name === undefined) start = -1
    if (word === '{' || word === '[') depth++
  }
}

/** A text of the sender's as it may appear in a message: quoted, and cut where it is long. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
