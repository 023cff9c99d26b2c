import { hash } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import { BoundedMap } from '../../../shared/bounded-map.ts'
import type { Key } from './key.ts'

/** The most accounts of one caller in a day. */
const mostAccounts = 100
const dayMs = 86_400_000

/** The least number of callers whose accounts are remembered: up to some 4 KB each. */
const leastCallers = 10_000

/** The accounts of a caller since a time, by hash. */
type Accounts = Readonly<{ sinceMs: number; hashes: Set<number> }>

/**
 * Bounds the accounts that callers from outside come with, because each has a quota. A gateway counts by itself, for a day from
 * a caller's first change of account on. One that stays in the account of its record takes no memory.
 */
export class OutsideAccounts {
  readonly #clock: Clock
  readonly #accountsById = new BoundedMap<Accounts>(leastCallers)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the caller of a record may come with an account, which counts from then on. */
  take({ id, account: latest }: Key, account: string | undefined): boolean {
    if (account === undefined || account === latest) return true
    const { hashes } = this.#accountsOf(id, latest)
    const name = hashOf(account)
    if (hashes.size >= mostAccounts && !hashes.has(name)) return false
    hashes.add(name)
    return true
  }

  #accountsOf(id: string, latest: string | undefined): Accounts {
    const nowMs = this.#clock()
    const present = this.#accountsById.get(id)
    if (present && Math.abs(nowMs - present.sinceMs) < dayMs) return present
    const hashes = new Set(latest === undefined ? [] : [hashOf(latest)])
    const accounts = { sinceMs: nowMs, hashes }
    this.#accountsById.set(id, accounts)
    return accounts
  }
}

function hashOf(account: string): number {
  return hash('sha256', account, 'buffer').readUIntBE(0, 6)
}
