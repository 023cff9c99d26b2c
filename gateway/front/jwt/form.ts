import { closes, colon, jsonFrom, opens, quote, walkJson } from '../../../shared/json.ts'

/** What a token says of itself, before anything is verified. */
export type Unverified = Readonly<{
  header: Readonly<Record<string, unknown>>
  /** Its claims; `undefined` if the token is malformed. */
  claims: Readonly<Record<string, unknown>> | undefined
}>

const form = /^([\w-]+)\.([\w-]*)\.([\w-]*)$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The most names and levels of a part: no issuer's tokens have more, and such a part takes long to parse. */
const bounds = { levels: 32, names: 256 }

/**
 * Reads a token that has the form of a JWT: three parts, of which the first is a JSON object with `alg`; `undefined` for any
 * other.
 */
export function unverified(token: string): Unverified | undefined {
  const [, first, second = ''] = form.exec(token) ?? []
  const header = first === undefined ? undefined : partFrom(first)
  if (typeof header?.members['alg'] !== 'string') return undefined
  const { members, isClear } = header
  const claims = isClear && !('crit' in members) ? partFrom(second) : undefined
  return { header: members, claims: claims?.isClear ? claims.members : undefined }
}

/** The members of a part, and whether each name comes once: of several, readers differ about which counts. */
type Part = Readonly<{ members: Readonly<Record<string, unknown>>; isClear: boolean }>

/** Reads a part of a token; `undefined` if it isn't a JSON object, or is larger than anybody's. */
function partFrom(part: string): Part | undefined {
  const text = textOf(part)
  const names = text === undefined ? undefined : namesIn(text)
  if (text === undefined || names === undefined || names.count > bounds.names) return undefined
  const members = jsonFrom(text, bounds)
  if (typeof members !== 'object' || members === null || Array.isArray(members)) return undefined
  return { members: members as Record<string, unknown>, isClear: !names.areTwice }
}

/** How many names a text has, and whether an object at any level has one of them twice, in whatever spelling. */
function namesIn(text: string): Readonly<{ count: number; areTwice: boolean }> {
  const namesByLevel = new Map<number, Set<unknown>>()
  let [level, count, quotedAt, quotedEnd] = [0, 0, 0, 0]
  let areTwice = false
  walkJson(text, (code, from, end) => {
    if (code === quote) [quotedAt, quotedEnd] = [from, end]
    else if (opens(code)) namesByLevel.get(++level)?.clear()
    else if (closes(code)) level--
    else if (code === colon && ++count <= bounds.names) {
      const names = namesByLevel.get(level) ?? new Set()
      const quoted = text.slice(quotedAt, quotedEnd)
      const name = quoted.includes('\\') ? jsonFrom(quoted, { levels: 0 }) : quoted.slice(1, -1)
      areTwice ||= names.has(name)
      namesByLevel.set(level, names.add(name))
    }
  })
  return { count, areTwice }
}

function textOf(part: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(part, 'base64url'))
  } catch {
    return undefined
  }
}
