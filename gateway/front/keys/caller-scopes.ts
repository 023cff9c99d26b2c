import { stateOf, type Caller } from './caller.ts'

/** The most characters of a caller's scopes that an explanation has. */
const longestText = 500

/** The reason to refuse a caller that lacks some of the needed scopes, or whose claim with its scopes can't be read. */
export function lackOf(
  caller: Caller,
  needs: readonly string[],
): 'scope' | 'jwt_claim' | undefined {
  const has = scopesOf(caller)
  if (has === 'malformed') return 'jwt_claim'
  return has && !needs.every((each) => has.includes(each)) ? 'scope' : undefined
}

/** The first of a caller's scopes, with spaces between; `undefined` if it has all. */
export function scopesText(caller: Caller): string | undefined {
  const has = scopesOf(caller)
  if (typeof has !== 'object') return undefined
  let length = 0
  return has.filter((each) => (length += each.length + 1) <= longestText).join(' ')
}

/** The scopes of a caller's token, as far as its key has them; `undefined` for all. */
function scopesOf(caller: Caller): readonly string[] | 'malformed' | undefined {
  const { overrides, outside } = stateOf(caller)
  const [ofKey, ofToken] = [overrides?.scopes, outside?.outsider.scopes]
  if (!ofKey || !ofToken || ofToken === 'malformed') return ofToken ?? ofKey
  return ofToken.filter((each) => ofKey.includes(each))
}
