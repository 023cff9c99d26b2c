import type { Key } from './key.ts'

/**
 * The line of a key in the index of its store: name, id, account, note, reference (if there is one), plan, state and the id in
 * lower case, each behind a separator of its own. Lines are in the order of lists, by name and then by id. One look for a text passes over nearly
 * all lines that don't have it: of a million, it makes the difference of half a second. `redis/keys-walk.lua` reads lines
 * too.
 */
const separators = ['\x01', '\x02', '\x03', '\x07', '\x04', '\x05', '\x06'] as const
const [toId, toAccount, toNote, toReference, toPlan, toState, toLowerId] = separators

/** The letter of each state in a filter. A line has no `e`: the time decides whether a key has expired. */
export const stateLetters = { active: 'a', disabled: 'd', revoked: 'r', expired: 'e' } as const

/** Characters that no field of a line has. */
const control = /[\0-\x1f]/g

/**
 * A text in the form in which searches compare: without the difference of upper and lower case, for all of Unicode, and
 * of composed and decomposed letters.
 */
export function folded(text: string): string {
  // Most names: a tenth of the time.
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase()
  // In upper case first, because ß and ı have a partner there only; the two small sigmas have one capital.
  const one = text.normalize('NFD').toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return plain(one.normalize('NFC').toWellFormed())
}

function plain(text: string): string {
  return text.replace(control, '\ufffd')
}

/** The line of a key. */
export function lineOf(key: Key): string {
  const { id, name, account = '', note = '', reference, plan } = key
  const known = reference === undefined ? '' : toReference + folded(reference)
  return (
    `${folded(name)}${toId}${id}${toAccount}${folded(account)}${toNote}${folded(note)}${known}` +
    `${toPlan}${plain(plan.toWellFormed())}${toState}${stateText(key)}${toLowerId}${folded(id)}`
  )
}

/** The line of a key whose record is damaged. No filter takes it. */
export function lineOfDamaged(id: string): string {
  return `${toId}${id}${toAccount}${toNote}${toPlan}${toState}${toLowerId}`
}

/** The letter of a key's own state, and its expiry if that decides. */
function stateText({ revokedAtMs, disabled, expiresAtMs }: Key): string {
  if (revokedAtMs !== undefined) return stateLetters.revoked
  if (disabled) return stateLetters.disabled
  return stateLetters.active + (expiresAtMs ?? '')
}

/** The id in a line. */
export function idIn(line: string): string {
  return line.slice(line.indexOf(toId) + 1, line.indexOf(toAccount))
}

/** The conditions for a line. All texts are folded, and every line meets an empty one. */
export type LineFilter = Readonly<{
  /** Somewhere in name, account, note or reference, or at the beginning of the id. */
  search: string
  /** Somewhere in the name. */
  name: string
  /** Parts with separators in them, anywhere. */
  parts: readonly string[]
  /** The letters of the wanted states. */
  states: string
  nowMs: number
}>

export const accountPart = (account: string): string => toAccount + folded(account) + toNote
export const referencePart = (reference: string): string => toReference + folded(reference) + toPlan
export const planPart = (plan: string): string => toPlan + plain(plan.toWellFormed()) + toState

/** The beginning of the state in the lines of keys that may be in a state. */
export const statePart = (state: keyof typeof stateLetters): string =>
  toState + stateLetters[state === 'expired' ? 'active' : state]

/** Whether a filter takes a line. */
export function fits(line: string, { search, name, parts, states, nowMs }: LineFilter): boolean {
  if (!line.includes(search) || !parts.every((part) => line.includes(part))) return false
  if (search !== '' && !hasText(line, search)) return false
  if (name !== '' && !isIn(line.indexOf(name), line.indexOf(toId))) return false
  return states.includes(stateIn(line, nowMs))
}

function hasText(line: string, search: string): boolean {
  if (isIn(line.indexOf(search), line.indexOf(toId))) return true
  const accountAt = line.indexOf(toAccount)
  if (isIn(line.indexOf(search, accountAt), line.indexOf(toPlan))) return true
  return line.includes(toLowerId + search)
}

function isIn(at: number, end: number): boolean {
  return at >= 0 && at < end
}

function stateIn(line: string, nowMs: number): string {
  const text = line.slice(line.indexOf(toState) + 1, line.indexOf(toLowerId))
  const isExpired = text.length > 1 && Number(text.slice(1)) <= nowMs
  return isExpired ? stateLetters.expired : text.charAt(0) || '-'
}

/** The text behind all lines of a key, and before those of the next one: a walk goes on there. */
export function endOf(key: Pick<Key, 'id' | 'name'>): string {
  return folded(key.name) + toId + key.id + toNote
}

/**
 * The cursor of a page: the place of its last key in the order, so that it holds whatever becomes of that key. Callers
 * give it back as it is.
 */
export function cursorAt(end: string): string {
  return Buffer.from(end).toString('base64url')
}

/** The place of a cursor; `undefined` if it is none that `cursorAt` makes. */
export function placeOf(cursor: string): string | undefined {
  const end = Buffer.from(cursor, 'base64url').toString()
  const isPlace = /^[^\0-\x1f]*\x01[^\0-\x1f]+\x03$/.test(end)
  return isPlace && cursorAt(end) === cursor ? end : undefined
}
