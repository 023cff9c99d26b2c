import { hash } from 'node:crypto'
import { dictionaryIn } from './dictionary.ts'

export const digestHeader = 'content-digest'

const algorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
])

/** The digest of a body for its `Content-Digest` (RFC 9530). */
export function digestOf(body: Uint8Array): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`
}

/** Whether a `Content-Digest` has a hash that is known here. */
export function hasKnownHash(field: string): boolean {
  return dictionaryIn(field)?.some(({ name }) => algorithms.has(name)) ?? false
}

/** The judgement of a `Content-Digest` on a body: `none` without a known hash, `wrong` also if it can't be read. */
export function digestVerdict(field: string, body: Uint8Array): 'right' | 'wrong' | 'none' {
  const members = dictionaryIn(field)
  if (!members) return 'wrong'
  if (!hasKnownHash(field)) return 'none'
  const isRight = members.every(({ name, text }) => {
    const algorithm = algorithms.get(name)
    return algorithm === undefined || text === `${name}=:${hash(algorithm, body, 'base64')}:`
  })
  return isRight ? 'right' : 'wrong'
}
