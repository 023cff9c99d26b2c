import type { LimitSettings } from '../limits/limit-settings.ts'
import type { Key, StoredKey } from './key.ts'

/** The one who vouches for outsiders. Its word counts for nothing from the moment on at which it isn't trusted. */
export type Voucher = Readonly<{ isTrusted: boolean }>

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
  /** The end of what is said, in milliseconds since 1970. */
  untilMs: number
  by: Voucher
}>

/** A caller from outside: what is said of it, and its record. */
export type Outside = Readonly<{ outsider: Outsider; stored: StoredKey }>

/** The key of an outsider: plan and account are as is said now, all else as the record has it. */
export function keyOfOutsider({ outsider, stored }: Outside): Key {
  const { plan, account, limits: said } = outsider
  const { key } = stored
  return { ...key, plan, account, limits: said ? { ...said, ...key.limits } : key.limits }
}

/** Whether what was said still counts. */
export function counts({ untilMs, by }: Outsider, nowMs: number): boolean {
  return by.isTrusted && untilMs > nowMs
}
