import { quotaOf, type Key } from '../../gateway/front/keys/key.ts'
import { hashOf, keyIdOf, newKeyId, newToken } from '../../gateway/front/keys/token.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import { bytes } from './wire.ts'

export type Tokens = readonly string[]

type Request = (n: number) => string

/** The most keys in one addition to a store. */
const batch = 50_000

export function newTokens(count: number): string[] {
  return Array.from({ length: count }, () => newToken(newKeyId()))
}

export async function addKeys({ keys }: Stores, tokens: Tokens, plan = 'bench'): Promise<void> {
  for (let done = 0; done < tokens.length; done += batch) {
    await keys.add(tokens.slice(done, done + batch).map((token) => keyOf(token, plan)))
  }
}

export async function banKey({ quota }: Stores, token: string): Promise<void> {
  const key = keyOf(token, 'bench')
  await quota.ban(quotaOf(key), key.id, Date.now() + 3_600_000)
}

/** A request for pets by one token after the other. */
export function get(...tokens: Tokens): Request {
  const asks = tokens.map((token) => bytes('GET', '/v1/pets', { Authorization: `Bearer ${token}` }))
  return (n) => asks[n % asks.length] ?? ''
}

/** A question of a proxy for a decision about that. */
export function question(...tokens: Tokens): Request {
  const about = { 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/v1/pets' }
  const asks = tokens.map((token) =>
    bytes('GET', '/decide', { Authorization: `Bearer ${token}`, ...about }),
  )
  return (n) => asks[n % asks.length] ?? ''
}

export function mistyped(tokens: Tokens): Request {
  return get(...tokens.map((token) => `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`))
}

export function invented(): Request {
  return get(...newTokens(10_000))
}

function keyOf(token: string, plan: string): Key {
  return {
    ...{ id: keyIdOf(token), name: 'bench', plan, createdAtMs: 0 },
    secrets: [{ hash: hashOf(token) }],
  }
}
