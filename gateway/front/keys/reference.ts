import type { KeyPage, KeyStore } from './store.ts'
import { validUntil, type Key } from './key.ts'
import { folded } from './line.ts'
import { KeyMistake } from './mistake.ts'
import { isOf, outsideId } from './outside-callers.ts'
import { appIssuer, appKind } from './outsider.ts'
import { hashOf, isOurs, isWellFormed } from './token.ts'

/** The number of keys that a message lists if a name is ambiguous or unknown. */
const mostListed = 5

/** A token of ours with the id in it, whole or masked as in the log. */
const ofToken = /^tg_([0-9A-Za-z]{12})_/

/** A text that may be an id. */
const idLike = /^\w{1,12}$/

/** The characters of tokens from other systems, as the import accepts them. */
const foreignToken = /^[A-Za-z0-9\-._~+/]{8,512}=*$/

/** A key, and whether it was named by its token. */
export type ResolvedKey = Readonly<{ key: Key; byToken: boolean }>

/** The key of a token, and the end of the token if it isn't the current one; `undefined` if it was long ago. */
export type TokenHolder = Readonly<{
  key: Key
  isCurrent: boolean
  untilMs?: number | undefined
  /** Whether a request with it would be let in, by the key. */
  works: boolean
}>

/**
 * Finds the key that an operator names by its id, by one of its tokens, by the id that an app has for it, or by a name that no other key has. A revoked
 * key is found by its name only if no other key has it. Throws a `KeyMistake`; if a name is ambiguous or unknown, it
 * lists the keys with the same or a similar name.
 */
export async function resolveKey(store: KeyStore, reference: string): Promise<ResolvedKey> {
  // Anything longer may be a token, which the store must see hashed only.
  const byId = idLike.test(reference) ? await store.get(reference) : undefined
  if (byId) return { key: byId.key, byToken: false }
  const byToken = foreignToken.test(reference) ? await store.find(hashOf(reference)) : undefined
  if (byToken) return { key: byToken.key, byToken: true }
  const ofApp = { kind: appKind, issuer: appIssuer, subject: reference }
  const stored = await store.get(outsideId(ofApp))
  if (stored && isOf(stored.key, ofApp)) return { key: stored.key, byToken: false }
  if (reference.startsWith('tg_')) return { key: await keyOfToken(store, reference), byToken: true }
  return { key: await keyOfName(store, reference), byToken: false }
}

/** The key of a text that begins like a token, by the id in it. Messages don't repeat the text. */
async function keyOfToken(store: KeyStore, token: string): Promise<Key> {
  const [, id = ''] = ofToken.exec(token) ?? []
  if (id === '') throw new KeyMistake('this begins like a token, but has no id in it')
  const stored = await store.get(id)
  if (stored) return stored.key
  throw new KeyMistake(`there is no key with the id "${id}", which is in this token`, 'not_found')
}

/** The key of a token, in any state; the token may have been rotated out. Messages don't repeat it. */
export async function holderOf(
  store: KeyStore,
  token: string,
  nowMs: number,
): Promise<TokenHolder> {
  const hash = hashOf(token)
  const stored = await store.find(hash)
  if (!stored) {
    const isCut = isOurs(token) && !isWellFormed(token)
    const hint = isCut ? ': it is mistyped or cut, because its check doesn’t fit' : ''
    throw new KeyMistake(`no key has this token${hint}`, 'not_found')
  }
  const { key } = stored
  const secret = key.secrets.find((each) => each.hash === hash)
  const works = validUntil(key, hash) > nowMs
  return { key, isCurrent: hash === key.secrets[0]?.hash, untilMs: secret?.untilMs, works }
}

async function keyOfName(store: KeyStore, name: string): Promise<Key> {
  const same = await keysNamed(store, name)
  const alive = ifAny(same, isAlive)
  const candidates = ifAny(alive, (key) => key.name === name)
  const [only, ...others] = candidates
  if (only && others.length === 0) return only
  if (only) {
    throw new KeyMistake(
      `"${name}" is the name of ${candidates.length} keys: ${listed(candidates)}. Give the id of one`,
    )
  }
  const near = name === '' ? [] : (await someWith(store, name)).keys
  const more = near.length > 0 ? `; similar names: ${listed(near)}` : ''
  throw new KeyMistake(`there is no key with the id or name "${name}"${more}`, 'not_found')
}

/** A warning of the keys that have a name already, in upper or lower case; none about revoked ones. */
export async function sameNameWarnings(store: KeyStore, name: string): Promise<readonly string[]> {
  const same = (await keysNamed(store, name)).filter(isAlive)
  if (same.length === 0) return []
  const others = same.length === 1 ? 'another key has' : `${same.length} other keys have`
  return [
    `${others} the name "${name}": ${listed(same)}. Give commands the id, or another name to one of them: ` +
      'tollgate keys change ID --name NAME',
  ]
}

function isAlive({ revokedAtMs }: Key): boolean {
  return revokedAtMs === undefined
}

/** All keys with a name, in upper or lower case. They are beside each other in the order of pages. */
async function keysNamed(store: KeyStore, name: string): Promise<readonly Key[]> {
  const wanted = folded(name)
  const same: Key[] = []
  for (let after: string | undefined = wanted; after !== undefined;) {
    const { keys, end }: KeyPage = await someWith(store, name, after)
    const namesakes = keys.filter((key) => folded(key.name) === wanted)
    same.push(...namesakes)
    after = namesakes.length === keys.length ? end : undefined
  }
  return same
}

function someWith(store: KeyStore, name: string, after?: string): Promise<KeyPage> {
  const filter = { name, all: true }
  return store.page({ filter, limit: mostListed + 1, after, nowMs: 0 })
}

/** The keys that pass a check; all of them if none passes. */
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
