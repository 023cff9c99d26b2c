import { callerValue } from '../../../shared/caller-value.ts'
import { memberAt } from '../../../shared/pointer.ts'
import type { Claims, JwtSettings } from './settings.ts'

/** The most bytes of a header with a claim. */
const longestValue = 1_024

/**
 * The headers in which backends get claims, names and values in turn; `undefined` if a claim can't be told in a header: a
 * backend may decide by it, and would find nothing.
 */
export function forwardedOf(
  { forward }: JwtSettings,
  claims: Claims,
): readonly string[] | undefined {
  const headers: string[] = []
  for (const [header, claim] of forward) {
    const text = textOf(memberAt(claims, claim))
    if (text === undefined || !text.isWellFormed()) return undefined
    const value = callerValue(text)
    if (value.length > longestValue) return undefined
    if (value !== '') headers.push(header, value)
  }
  return headers
}

/** A claim as a text, empty if it isn't there; `undefined` if it has none. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined
  const isList = Array.isArray(value) && value.every(isWord)
  return isList ? value.join(' ') : undefined
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !value.includes(' ')
}

/** The scopes of verified claims. */
export function scopesOf({ scopes }: JwtSettings, claims: Claims): readonly string[] | 'malformed' {
  const value = (scopes ? memberAt(claims, scopes) : (claims['scope'] ?? claims['scp'])) ?? ''
  if (typeof value === 'string') return value.split(' ').filter((each) => each !== '')
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string')
  return isList ? value : 'malformed'
}
