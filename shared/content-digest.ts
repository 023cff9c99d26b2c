import { hash } from 'node:crypto'
import { dictionaryIn } from './dictionary.ts'

export const digestHeader = 'content-digest'

const algorithms: Readonly<Record<string, 'sha256' | 'sha512'>> = {
  'sha-256': 'sha256',
  'sha-512': 'sha512',
}

/** The digest of a body for its `Content-Digest` (RFC 9530). */
export function digestOf(body: Uint8Array): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`
}

/** What a `Content-Digest` says of a body: `none` if it has no hash that is known here, `wrong` also if it can't be read. */
export function digestVerdict(field: string, body: Uint8Array): 'right' | 'wrong' | 'none' {
  const known = dictionaryIn(field)?.filter(({ name }) => name in algorithms)
  if (!known) return 'wrong'
  if (known.length === 0) return 'none'
  const isRight = known.every(({ name, text }) => {
    const algorithm = algorithms[name] ?? 'sha256'
    return text === `${name}=:${hash(algorithm, body, 'base64')}:`
  })
  return isRight ? 'right' : 'wrong'
}
