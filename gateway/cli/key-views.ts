import type { Key } from '../keys/key.ts'
import { keyView } from '../keys/view.ts'
import type { Output } from './command.ts'
import { aligned, printable } from './table.ts'

/** A new token, the one time that it is shown. */
export function issued(done: string, key: Key, token: string, more = ''): Output {
  return {
    text:
      `${done} the key ${key.id} (${printable(key.name)}, plan ${key.plan}). Its token is shown this once:\n\n` +
      `  ${token}${more ? `\n\n${more}` : ''}`,
    json: { id: key.id, key: token, plan: key.plan },
  }
}

/** One key, a line for each thing that is known of it. */
export function shown(key: Key, now: number): Output {
  const view = keyView(key, now)
  const rows = Object.entries(view)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [`${name}:`, typeof value === 'string' ? value : JSON.stringify(value)])
  return { text: aligned(rows), json: view }
}
