import { hash } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import type { Reason } from '../../../shared/refusal.ts'
import { limitSettings } from '../limits/limit-settings.ts'
import type { Caller } from './caller.ts'
import type { KeyDirectory } from './directory.ts'
import type { QuotaStore } from '../limits/store.ts'
import { quotaOf, type Key, type StoredKey } from './key.ts'
import { copyBan } from './move-ban.ts'
import type { OutsideAccounts } from './outside-accounts.ts'
import type { OutsideRecords } from './outside-records.ts'
import { counts, keyOfOutsider, type Outsider } from './outsider.ts'
import type { KeyStore } from './store.ts'
import { alphabet, idLength } from './token.ts'

/** The time after which a caller is looked up anew whose ban the store couldn't tell. */
const againAfterMs = 1_000

/**
 * Why a token from outside isn't let in. A temporary reason says nothing about the token; where its caller's conduct is the
 * reason, `key` names the record.
 */
export type Denial = Readonly<{ reason: Reason; isTemporary: boolean; key?: string }>

/** Finds the callers of tokens that aren't our keys. */
export interface OutsideFinder {
  /** The most characters of a token. */
  readonly longest: number
  /** Whether it can be asked about a token, of an address that may be over the limit for strangers. */
  takes(token: string, isOver: boolean): boolean
  /** The caller of such a token. Simultaneous questions about one share the answer. */
  find(token: string, isOver: boolean): Promise<Caller | Denial>
}

export type OutsideCallersOptions = Readonly<{
  store: KeyStore
  /** The store of bans: a ban holds for tokens of other accounts, too. */
  quota: Pick<QuotaStore, 'decide' | 'ban'>
  directory: Pick<KeyDirectory, 'outsideOf' | 'outsiderOf' | 'remember'>
  records: OutsideRecords
  clock: Clock
  /** Called for a record that could not be brought up to date. */
  outdated: (key: string, error: unknown) => void
}>

/**
 * The result of a look-up: `mismatch` if the id is another pair's or one of our keys', `full` if no more records may be
 * made, `accounts` if it has come with too many, `unavailable` without the store.
 */
export type OutsideLookUp = Caller | 'mismatch' | 'full' | 'accounts' | 'unavailable'

/**
 * Finds callers whose keys are known elsewhere. Each has a record among the keys, without a secret, which is made when it
 * first comes. Issuer and subject determine its id, so all gateways find the same one, and all that goes by ids holds.
 */
export class OutsideCallers {
  readonly #options: OutsideCallersOptions
  /** The keys whose records are being brought up to date. */
  readonly #updating = new Set<string>()

  constructor(options: OutsideCallersOptions) {
    this.#options = options
  }

  /** The latest answer about a token, until it expires. */
  outsiderOf(token: string): Outsider | undefined {
    return this.#options.directory.outsiderOf(token)
  }

  /**
   * The caller of a token for which somebody vouches. `most` bounds the records of one issuer, `accounts` the accounts of one
   * caller.
   */
  async find(
    token: string,
    outsider: Outsider,
    most: number,
    accounts?: OutsideAccounts,
  ): Promise<OutsideLookUp> {
    const id = outsideId(outsider)
    try {
      const stored = await this.#recordOf(id, outsider, most)
      if (stored === 'full') return 'full'
      if (!isOf(stored.key, outsider)) return 'mismatch'
      if (accounts?.take(stored.key, outsider.account) === false) return 'accounts'
      const checked = await this.#haveBanHold(stored.key, outsider)
      // The record leads to a ban as long as it has the account where the ban is.
      if (checked === outsider) this.#bringUpToDate(stored, outsider)
      return this.#options.directory.remember(token, { outsider: checked, stored })
    } catch {
      return 'unavailable'
    }
  }

  /** Has a running ban hold in the account that it comes with. Where the store can't tell, it is to be asked again soon. */
  async #haveBanHold(key: Key, outsider: Outsider): Promise<Outsider> {
    const { quota, clock } = this.#options
    const present = quotaOf({ ...key, account: outsider.account })
    try {
      await copyBan(quota, key.id, quotaOf(key), present)
      return outsider
    } catch {
      return { ...outsider, askAgainAtMs: clock() + againAfterMs }
    }
  }

  /** Its record, from memory as long as another of its tokens counts, or the store can't be asked. */
  async #recordOf(id: string, outsider: Outsider, most: number): Promise<StoredKey | 'full'> {
    const { directory, clock } = this.#options
    const memory = directory.outsideOf(id)
    if (memory && counts(memory.outsider, clock())) return memory.stored
    try {
      return await this.#foundOrMade(id, outsider, most)
    } catch (error) {
      if (memory) return memory.stored
      throw error
    }
  }

  async #foundOrMade(id: string, outsider: Outsider, most: number): Promise<StoredKey | 'full'> {
    const { store, records, clock } = this.#options
    const stored = await store.get(id)
    if (stored) return stored
    const record = newRecord(id, outsider, clock())
    if (!records.take(record, most)) return 'full'
    // Another gateway, or another of its tokens, may have made it meanwhile.
    const { clash } = await store.add([record])
    const made = await store.get(id)
    if (!made) throw new Error('a record that was made is not there')
    if (clash === undefined) records.made(made.key)
    return made
  }

  /**
   * Writes what is said now to the record, for lists. Requests don't wait for it, or go by it. A record that others have
   * changed meanwhile is brought up to date with the next token.
   */
  #bringUpToDate(stored: StoredKey, outsider: Outsider): void {
    const { key, version } = stored
    const after = keyOfOutsider({ outsider, stored })
    if (saysTheSame(key, after) || this.#updating.has(key.id)) return
    this.#updating.add(key.id)
    const { store, outdated } = this.#options
    void Promise.resolve(store.replace(after, version))
      .catch((error: unknown) => outdated(key.id, error))
      .finally(() => this.#updating.delete(key.id))
  }
}

/** The id of an outsider's key: as many letters and digits as the ids of other keys have. */
export function outsideId({ kind, issuer, subject }: Pick<Outsider, OriginMember>): string {
  const digest = hash('sha256', JSON.stringify([kind, issuer, subject]), 'hex')
  let rest = BigInt(`0x${digest}`)
  let id = ''
  for (let i = 0; i < idLength; i++) {
    id += alphabet.charAt(Number(rest % 62n))
    rest /= 62n
  }
  return id
}

/** Whether a record is an outsider's own. */
export function isOf(key: Key, { kind, issuer, subject }: Pick<Outsider, OriginMember>): boolean {
  return key.kind === kind && key.issuer === issuer && key.subject === subject
}

function saysTheSame(one: Key, other: Key): boolean {
  return (
    one.plan === other.plan &&
    one.account === other.account &&
    limitSettings.every((name) => one.outsideLimits?.[name] === other.outsideLimits?.[name])
  )
}

type OriginMember = 'kind' | 'issuer' | 'subject'

function newRecord(id: string, outsider: Outsider, createdAtMs: number): Key {
  const { kind, issuer, subject, name, plan, account, limits: outsideLimits } = outsider
  const origin = { kind, issuer, subject, outsideLimits }
  return { id, name, plan, account, createdAtMs, ...origin, secrets: [] }
}
