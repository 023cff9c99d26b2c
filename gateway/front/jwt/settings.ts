/** The algorithms of signatures that an issuer may have: all have two keys, of which the gateway knows the public one. */
export const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
] as const

/** Where an issuer's keys are: at a URL, with the private addresses that it may lead to, or in a file with a text. */
export type KeysSource =
  Readonly<{ url: string; allow: readonly string[] }> | Readonly<{ file: string; text: string }>

/** The plan of a token: that of a claim's value, else another one; `undefined` if there is none. */
export type PlanOfClaims = Readonly<{
  claim: string | undefined
  is: ReadonlyMap<string, string>
  otherwise: string | undefined
}>

/** An issuer whose tokens are taken in place of keys. */
export type JwtSettings = Readonly<{
  issuer: string
  audience: string
  keys: KeysSource
  algorithms: readonly string[]
  /** The names of the claims that say who it is, and its name. */
  subject: string
  name: string | undefined
  /** The claim with its account, and what stands before it in the account's name. */
  account: Readonly<{ claim: string; prefix: string }> | undefined
  plan: PlanOfClaims
  /** The most callers that have a record. */
  maxCallers: number
}>

/** The prefix that keeps the accounts of an issuer apart from those of keys and of other issuers. */
export function defaultPrefix(issuer: string): string {
  return `${issuer}#`
}
