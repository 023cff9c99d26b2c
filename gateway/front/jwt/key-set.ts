import { createPublicKey, type KeyObject } from 'node:crypto'
import { jsonFrom } from '../../../shared/json.ts'
import { section, type Section } from '../http/page/sections.ts'
import { algorithmNamed } from './settings.ts'

/** The most members of a set. */
const mostKeys = 100

/** The bounds of its JSON: a set of so many keys has less. */
const bounds = { levels: 32, names: 4_096 }

/** The least bits of an RSA key. */
const leastBits = 2_048

/** A public key of an issuer. It verifies until it is gone from the set that it came from. */
export type VerifyingKey = {
  /** Its own text, by which a key that stays is known in a newer set. */
  readonly text: string
  readonly id: string | undefined
  readonly key: KeyObject
  readonly algorithms: readonly string[]
  isInForce: boolean
}

/** A member of a set that verifies nothing, and why. */
export type LeftOut = Readonly<{ kid: string | null; reason: string }>

export type KeySet = Readonly<{ keys: readonly VerifyingKey[]; leftOut: readonly LeftOut[] }>

/** The keys of a set's text, each once. Throws a sentence if it isn't a set. */
export function keysFrom(text: string): KeySet {
  const members = membersOf(text)
  if (members.length > mostKeys) {
    throw new Error(`it has ${members.length} keys; at most ${mostKeys} are allowed`)
  }
  const keyByText = new Map<string, VerifyingKey>()
  const leftOut: LeftOut[] = []
  for (const member of members) {
    const jwk = section(member)
    const key = verifyingKey(jwk)
    const { kid } = jwk
    if (typeof key !== 'string') keyByText.set(key.text, key)
    else leftOut.push({ kid: typeof kid === 'string' ? kid : null, reason: key })
  }
  return { keys: [...keyByText.values()], leftOut }
}

function membersOf(text: string): readonly unknown[] {
  const value = jsonFrom(text, bounds)
  if (value === undefined) throw new Error(`it isn’t JSON, or has over ${bounds.names} names`)
  const { keys } = section(value)
  if (!Array.isArray(keys)) throw new Error('it isn’t a key set: an object with a list of keys')
  return keys as unknown[]
}

/** The key of a member of a set, or why it isn't one that verifies signatures of ours. */
function verifyingKey(jwk: Section): VerifyingKey | string {
  const { kty, use, key_ops: operations, alg, kid } = jwk
  if (use !== undefined && use !== 'sig') return 'its use isn’t sig'
  if (Array.isArray(operations) && !operations.includes('verify')) return 'its key_ops lack verify'
  if (kty === 'oct') return 'it is a shared secret (oct)'
  const key = publicKey(jwk)
  if (!key) return 'it can’t be read as a public key'
  const fitting = algorithmsOf(key)
  if (fitting.length === 0 && kty === 'RSA') return `it is RSA of under ${leastBits} bits`
  if (fitting.length === 0) return 'no algorithm that is taken is for its kty and crv'
  const algorithms = fitting.filter((each) => alg === undefined || algorithmNamed(alg) === each)
  if (algorithms.length === 0) return 'its alg isn’t one that is taken with such a key'
  const text = JSON.stringify([key.export({ format: 'jwk' }), kid, algorithms])
  return { text, id: typeof kid === 'string' ? kid : undefined, key, algorithms, isInForce: true }
}

/** Whether a key may verify a token: by its id, if the token names one, and by the algorithm. */
export function fits(
  { id, algorithms }: VerifyingKey,
  kid: string | undefined,
  algorithm: string,
): boolean {
  return (kid === undefined || id === kid) && algorithms.includes(algorithm)
}

function publicKey(jwk: Section): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return undefined
  }
}

const ofCurves: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
}

function algorithmsOf({
  asymmetricKeyType,
  asymmetricKeyDetails = {},
}: KeyObject): readonly string[] {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails
  if (asymmetricKeyType === 'ed25519') return ['EdDSA']
  if (asymmetricKeyType === 'ec') return ofCurves[namedCurve] ?? []
  if (asymmetricKeyType !== 'rsa' || modulusLength < leastBits) return []
  return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
}
