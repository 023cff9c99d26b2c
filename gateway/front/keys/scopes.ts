import { KeyMistake } from './mistake.ts'

/** A scope as RFC 6749 writes it (3.3). */
export const scopePattern = '^[!#-\\[\\]-~]{1,100}$'
const scope = new RegExp(scopePattern)

/** The most scopes of a key, and of a route. */
export const mostScopes = 50

/** Throws a `KeyMistake` if a key can't have these scopes. */
export function requireScopes(scopes: readonly string[]): void {
  if (scopes.length > mostScopes)
    throw new KeyMistake(`a key has at most ${mostScopes} scopes, got ${scopes.length}`)
  const wrong = scopes.find((each) => !scope.test(each))
  if (wrong === undefined) return
  throw new KeyMistake(
    `a scope must be 1 to 100 printable ASCII characters without spaces, quotes and backslashes, such as pets:write, got "${wrong}"`,
  )
}

/** Whether a value is a list of scopes that a route can need. */
export function areScopes(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= mostScopes &&
    value.every((each) => typeof each === 'string' && scope.test(each))
  )
}
