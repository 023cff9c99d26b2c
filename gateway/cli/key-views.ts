import { stateOf } from '../keys/desk.ts'
import type { Key } from '../keys/key.ts'
import type { Output } from './command.ts'
import { aligned } from './table.ts'

/** A new token, the one time that it is shown. */
export function issued(done: string, key: Key, token: string, more = ''): Output {
  return {
    text:
      `${done} the key ${key.id} (${key.name}, plan ${key.plan}). Its token is shown this once:\n\n` +
      `  ${token}${more ? `\n\n${more}` : ''}`,
    json: { id: key.id, key: token, plan: key.plan },
  }
}

/** One key, a line for each thing that is known of it. */
export function shown(key: Key, now: number): Output {
  const view = publicView(key, now)
  const rows = Object.entries(view)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [`${name}:`, typeof value === 'string' ? value : JSON.stringify(value)])
  return { text: aligned(rows), json: view }
}

/** A key without its secrets, times as texts. */
export function publicView(key: Key, now: number): Record<string, unknown> {
  const time = (ms: number | undefined): string | undefined =>
    ms === undefined ? undefined : new Date(ms).toISOString()
  const { id, name, plan, account, limits, methods, paths, addresses, note, secrets } = key
  return {
    id,
    name,
    plan,
    state: stateOf(key, now),
    account,
    limits: limits && Object.keys(limits).length > 0 ? limits : undefined,
    createdAt: time(key.createdAtMs),
    expiresAt: time(key.expiresAtMs),
    revokedAt: time(key.revokedAtMs),
    methods,
    paths,
    addresses,
    note,
    oldTokenUntil: time(secrets.find(({ untilMs = 0 }) => untilMs > now)?.untilMs),
  }
}
