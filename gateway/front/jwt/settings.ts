import { pathOf } from '../../../shared/pointer.ts'

/** The algorithms of signatures that an issuer may have: all have two keys, of which the gateway knows the public one. */
export const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const

/** One name for each algorithm: RFC 9864 calls EdDSA by the one curve that is taken `Ed25519`. */
export function algorithmNamed<Name>(name: Name): Name | 'EdDSA' {
  return name === 'Ed25519' ? 'EdDSA' : name
}

/** Where an issuer's keys are: at a URL, with the private addresses that it may lead to, or in a file with a text. */
export type KeysSource =
  Readonly<{ url: string; allow: readonly string[] }> | Readonly<{ file: string; text: string }>

export type Claims = Readonly<Record<string, unknown>>

/** The names that lead to a claim, the outermost first. */
export type ClaimPath = readonly string[]

/** The path of a claim as it is written: a JSON pointer, which begins with `/`, or the name of an outermost claim. */
export function claimPath(written: string): ClaimPath {
  return written.startsWith('/') ? pathOf(written) : [written]
}

/** A claim that a token must have, and the texts of which it must be one. */
export type RequiredClaim = Readonly<{ claim: ClaimPath; texts: readonly string[] }>

/** The plan of a token: that of a claim's value, else another one; `undefined` if there is none. */
export type PlanOfClaims = Readonly<{
  claim: ClaimPath | undefined
  /** The plans by values: of several values of one token, the first one here counts. */
  is: ReadonlyMap<string, string>
  otherwise: string | undefined
}>

/** An issuer whose tokens are taken in place of keys. */
export type JwtSettings = Readonly<{
  issuer: string
  /** `undefined` if `aud` isn't looked at. */
  audience: string | undefined
  claims: readonly RequiredClaim[]
  keys: KeysSource
  algorithms: readonly string[]
  /** The claims that say who it is, and its name. */
  subject: ClaimPath
  name: ClaimPath | undefined
  /** The claim with its account, and what stands before it in the account's name. */
  account: Readonly<{ claim: ClaimPath; prefix: string }> | undefined
  plan: PlanOfClaims
  /** The claim with the scopes of its tokens; `undefined` for `scope`, or `scp` without one. */
  scopes: ClaimPath | undefined
  /** Claims that go on to backends, by header in small letters, in the order of their names. */
  forward: readonly (readonly [header: string, claim: ClaimPath])[]
  /** The most callers that have a record. */
  maxCallers: number
}>

/** The prefix that keeps the accounts of an issuer apart from those of keys and of other issuers. */
export function defaultPrefix(issuer: string): string {
  return `${issuer}#`
}
