import type { KeyStore } from './store.ts'
import type { Key } from './key.ts'
import { KeyMistake } from './mistake.ts'
import { hashOf } from './token.ts'

/** How many keys are listed where several may be meant. */
const mostListed = 5

/** A token of ours, whole or as the log shows it, with the id in it. */
const ofToken = /^tg_([0-9A-Za-z]{12})_/

/** What tokens of other systems are made of, at least; see the import. */
const foreignToken = /^[A-Za-z0-9\-._~+/]{8,512}=*$/

/** A key that somebody has named, and whether they did so by its secret. */
export type Referred = Readonly<{ key: Key; byToken: boolean }>

/**
 * The key that an operator means: by its id, by one of its tokens, or by a name that no other key has. A revoked
 * key counts by its name only if no other one has it. Throws a `KeyMistake` that lists the keys that may be meant.
 */
export async function keyMeant(store: KeyStore, reference: string): Promise<Referred> {
  const byId = await store.get(reference)
  if (byId) return { key: byId.key, byToken: false }
  const found = foreignToken.test(reference) ? await store.find(hashOf(reference)) : undefined
  if (found) return { key: found.key, byToken: true }
  if (reference.startsWith('tg_')) return { key: await keyOfToken(store, reference), byToken: true }
  return { key: await keyOfName(store, reference), byToken: false }
}

/** What is given begins like a token: it is not repeated. */
async function keyOfToken(store: KeyStore, token: string): Promise<Key> {
  const [, id = ''] = ofToken.exec(token) ?? []
  if (id === '') throw new KeyMistake('this begins like a token, but has no id in it')
  const stored = await store.get(id)
  if (stored) return stored.key
  throw new KeyMistake(`there is no key with the id "${id}", which is in this token`, 'not_found')
}

async function keyOfName(store: KeyStore, name: string): Promise<Key> {
  const wanted = name.toLowerCase()
  const same: Key[] = []
  const near: Key[] = []
  for await (const key of store.list()) {
    const each = key.name.toLowerCase()
    if (each === wanted) same.push(key)
    else if (near.length <= mostListed && wanted !== '' && each.includes(wanted)) near.push(key)
  }
  const alive = ifAny(same, ({ revokedAtMs }) => revokedAtMs === undefined)
  const meant = ifAny(alive, (key) => key.name === name)
  const [only, ...others] = meant
  if (only && others.length === 0) return only
  if (only) {
    throw new KeyMistake(
      `"${name}" is the name of ${meant.length} keys: ${listed(meant)}. Give the id of one`,
    )
  }
  const more = near.length > 0 ? `; like it: ${listed(near)}` : ''
  throw new KeyMistake(`there is no key with the id or name "${name}"${more}`, 'not_found')
}

/** Those that something holds for; all, if it holds for none. */
function ifAny(keys: readonly Key[], holds: (key: Key) => boolean): readonly Key[] {
  const some = keys.filter(holds)
  return some.length > 0 ? some : keys
}

function listed(keys: readonly Key[]): string {
  const some = keys.slice(0, mostListed).map((key) => {
    const revoked = key.revokedAtMs === undefined ? '' : ', revoked'
    return `${key.id} (${key.name}, plan ${key.plan}${revoked})`
  })
  return [...some, ...(keys.length > mostListed ? ['…'] : [])].join(', ')
}
