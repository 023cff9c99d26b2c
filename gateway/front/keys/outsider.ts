import { printable } from '../../../shared/printable.ts'
import type { LimitSettings } from '../limits/limit-settings.ts'
import type { Key, StoredKey } from './key.ts'
import { isLine } from './settings.ts'

/** The kind and the issuer of callers that an app knows itself. */
export const appKind = 'app'
export const appIssuer = 'the app'

const longestText = 255

/** The one who vouches for outsiders. */
export type Voucher = Readonly<{
  /** Whether its word counts: what has begun by it ends otherwise. */
  isTrusted: boolean
  /** Whether it may say something else when it is asked anew, as the next request does then; what has begun goes on. */
  isOutdated?: boolean
}>

/** What somebody else says of a caller, in place of a secret of its key. */
export type Outsider = Readonly<{
  kind: string
  issuer: string
  subject: string
  /** The name of a new record. */
  name: string
  plan: string
  account: string | undefined
  /** Limits of its own; those that an operator has set go before. */
  limits?: LimitSettings | undefined
  /** Its scopes, or that nobody can read them; all by default. */
  scopes?: readonly string[] | 'malformed' | undefined
  /** Headers that the backend gets of it, names in small letters and values in turn. */
  forwarded?: readonly string[] | undefined
  /** Anything else that is said, for handlers of an app: it is kept in memory alone. */
  data?: unknown
  /** The end of what is said, in milliseconds since 1970. */
  untilMs: number
  /** From then on the next request asks anew; what has begun goes on. */
  askAgainAtMs?: number | undefined
  by: Voucher
}>

/** A caller from outside: what is said of it, and its record. */
export type Outside = Readonly<{ outsider: Outsider; stored: StoredKey }>

/** The key of an outsider: plan and account are as is said now, all else as the record has it. */
export function keyOfOutsider({ outsider, stored }: Outside): Key {
  const { plan, account, limits } = outsider
  return { ...stored.key, plan, account, outsideLimits: limits }
}

/** Whether what was said still counts. */
export function counts({ untilMs, by }: Outsider, nowMs: number): boolean {
  return by.isTrusted && untilMs > nowMs
}

/** Whether the next request is to ask anew. */
export function isToBeAskedAgain({ askAgainAtMs, by }: Outsider, nowMs: number): boolean {
  return by.isOutdated === true || (askAgainAtMs !== undefined && askAgainAtMs <= nowMs)
}

/** Whether a text can be a subject: 1 to 255 characters, none of them a control character. */
export function isSubject(text: string): boolean {
  return text !== '' && text.length <= longestText && !/\p{Cc}|\p{Cs}/u.test(text)
}

/** The name of a record by its subject, which may have characters that nobody sees. */
export function nameOf(subject: string): string {
  return isLine(subject) ? subject : `“${printable(subject)}”`.slice(0, longestText)
}
