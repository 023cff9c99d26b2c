import { parseJsonObject } from '../../../shared/json.ts'

/** What a token says of itself, before anything is verified. */
export type Unverified = Readonly<{
  header: Readonly<Record<string, unknown>>
  /** Its claims; `undefined` if the token is malformed. */
  claims: Readonly<Record<string, unknown>> | undefined
}>

const form = /^([\w-]+)\.([\w-]*)\.([\w-]*)$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a token that has the form of a JWT: three parts, of which the first is a JSON object with `alg`; `undefined` for any
 * other.
 */
export function unverified(token: string): Unverified | undefined {
  const [, first, second = ''] = form.exec(token) ?? []
  if (first === undefined) return undefined
  const header = plainObject(first)
  if (typeof header?.['alg'] !== 'string') return undefined
  const isSound = !('crit' in header) && strictObject(first) !== undefined
  return { header, claims: isSound ? strictObject(second) : undefined }
}

function plainObject(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(textOf(part))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The members of a part; `undefined` if it isn't a JSON object, or names a member twice: readers differ about which counts. */
function strictObject(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = textOf(part)
    return namesTwice(text) ? undefined : parseJsonObject(text).members
  } catch {
    return undefined
  }
}

/** Whether an object at any level names a member twice, in whatever spelling. */
function namesTwice(text: string): boolean {
  const names: Set<unknown>[] = []
  for (const [token, quoted, colon] of text.matchAll(namesAndBrackets)) {
    if (token === '{' || token === '[') names.push(new Set())
    else if (token === '}' || token === ']') names.pop()
    else if (colon !== undefined) {
      const [ofObject, name] = [names.at(-1), JSON.parse(quoted ?? '') as unknown]
      if (ofObject?.has(name)) return true
      ofObject?.add(name)
    }
  }
  return false
}

/** Texts, with the colon behind a name, and brackets. */
const namesAndBrackets = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/gs

function textOf(part: string): string {
  return utf8.decode(Buffer.from(part, 'base64url'))
}
