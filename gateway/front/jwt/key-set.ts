import { jsonFrom } from '../../../shared/json.ts'
import { section } from '../http/page/sections.ts'
import { verifyingKey, type VerifyingKey } from './key.ts'

/** The most members of a set. */
const mostKeys = 100

/** The bounds of its JSON: a set of so many keys has less. */
const bounds = { levels: 32, names: 4_096 }

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
