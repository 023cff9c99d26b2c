import type { Clock } from '../../../shared/clock.ts'
import type { Noted } from '../records/audit.ts'
import type { Act } from '../records/audit-store.ts'
import type { KeyPage, PageQuery } from './store.ts'
import type { QuotaStore } from '../limits/store.ts'
import { ownLimits, quotaOf, type Key, type KeySettings, type StoredKey } from './key.ts'
import { importKeys, type Imported, type ImportOptions } from './import.ts'
import { KeyMistake } from './mistake.ts'
import { requireAlive, requireFuture, requireOwn, touched } from './may-change.ts'
import { moveBan } from './move-ban.ts'
import {
  holderOf,
  resolveKey,
  sameNameWarnings,
  type ResolvedKey,
  type TokenHolder,
} from './reference.ts'
import { secretsAfterRotation } from './rotation.ts'
import type { Text } from './rows.ts'
import { changedCap, changedKey, requireSound, type KeyChanges } from './settings.ts'
import { hashOf, newKeyId, newToken } from './token.ts'
import { keyView } from './view.ts'

/** The number of attempts at a change while others change the same key. */
const tries = 10

/** A key and its token. Stores keep only the token's hash, so this is the one moment to show it. */
export type Issued = Readonly<{ key: Key; token: string }>

/**
 * A change of a key, by its name in the audit. It throws a `KeyMistake` for a key that can't have it. If it gives the same
 * object back, nothing is written. It may be part of an act on several keys.
 */
export type KeyEdit = Readonly<{ what: string; change: (key: Key) => Key; act?: Act | undefined }>

export type DeskOptions = Pick<ImportOptions, 'store' | 'plans'> &
  Readonly<{
    clock: Clock
    /** The store of bans: a ban goes with a key that moves to another account. */
    quota?: QuotaStore
    /** Writes each change to the audit. */
    noted?: Noted
  }>

/** The operations on keys, for the command line and the admin API. */
export class KeyDesk {
  readonly #options: DeskOptions

  constructor(options: DeskOptions) {
    this.#options = options
  }

  async create(settings: KeySettings): Promise<Issued> {
    const { store, plans, clock } = this.#options
    const createdAtMs = clock()
    requireSound(settings, plans)
    requireFuture(settings.expiresAtMs, createdAtMs)
    const id = newKeyId()
    const token = newToken(id)
    const cap = changedCap({}, settings, createdAtMs)
    const key = { ...settings, cap, id, createdAtMs, secrets: [{ hash: hashOf(token) }] }
    const { clash } = await store.add([key])
    if (clash !== undefined) throw new Error('a new random id was taken; this cannot be')
    await this.#note('keys.create', null, key)
    return { key, token }
  }

  /**
   * Adds the keys of a text of CSV or JSON lines, all or none. Throws `RowMistakes` with all mistakes. A dry run adds nothing.
   */
  async import(
    text: Text,
    progress?: (written: number, total: number) => void,
    ways: Pick<ImportOptions, 'isDryRun' | 'skipsStored'> = {},
  ): Promise<Imported> {
    const [store, plans, nowMs] = [this.#options.store, this.#options.plans, this.#options.clock()]
    const imported = await importKeys(text, { ...ways, store, plans, nowMs }, progress)
    const { keys, names } = imported
    if (ways.isDryRun || keys === 0) return imported
    // Its keys have no lines of their own: their time leads from each of them to this one.
    const after = { imported: keys, names, createdAt: new Date(nowMs).toISOString() }
    await this.#options.noted?.({ what: 'keys.import', subject: 'keys', before: null, after })
    return imported
  }

  async show(id: string): Promise<Key> {
    return (await this.#read(id)).key
  }

  list(): AsyncIterable<Key> {
    return this.#options.store.list()
  }

  /** A page of the wanted keys, in the order of names. */
  page(query: Omit<PageQuery, 'nowMs'>): Promise<KeyPage> {
    return this.#options.store.page({ ...query, nowMs: this.#options.clock() })
  }

  /** Finds the key with an id, a token, or a name that no other key has. */
  find(reference: string): Promise<ResolvedKey> {
    return resolveKey(this.#options.store, reference)
  }

  /** Warns of keys that have a name already: commands can't name one of them by it any more. */
  sameNameWarnings(name: string): Promise<readonly string[]> {
    return sameNameWarnings(this.#options.store, name)
  }

  /** The key of a token, in any state; the token may have been rotated out. Messages don't repeat it. */
  holderOf(token: string): Promise<TokenHolder> {
    return holderOf(this.#options.store, token, this.#options.clock())
  }

  /** All keys of an account, by name, revoked ones included. */
  async keysOf(account: string): Promise<readonly Key[]> {
    const all: Key[] = []
    let after: string | undefined
    do {
      const { keys, end } = await this.page({ filter: { account, all: true }, limit: 500, after })
      all.push(...keys)
      after = end
    } while (after !== undefined)
    return all
  }

  /** The key of a reference; `undefined` for one of something else, such as a file. */
  async known(reference: string): Promise<Key | undefined> {
    try {
      return (await this.find(reference)).key
    } catch (error) {
      if (error instanceof KeyMistake && error.code === 'not_found') return undefined
      throw error
    }
  }

  /** The number of an account's keys, without revoked ones. */
  async countOf(account: string): Promise<number> {
    const all = await this.keysOf(account)
    return all.filter(({ revokedAtMs }) => revokedAtMs === undefined).length
  }

  /** The change to some settings. */
  changing(changes: KeyChanges): KeyEdit {
    const change = (key: Key): Key => {
      requireAlive(key)
      if ('plan' in changes) requireOwn(key, 'plan')
      if ('account' in changes) requireOwn(key, 'account')
      if (Object.keys(changes).length === 0) return key
      const nowMs = this.#options.clock()
      const changed = changedKey(key, changes, nowMs)
      // The plan and the account of a caller from outside come with its tokens: they may fit no longer.
      const isOutside = key.kind !== undefined
      const cap = isOutside && !('cap' in changes) ? undefined : changed.cap
      const settings = { ...changed, limits: ownLimits(changed), cap }
      requireSound(settings, isOutside ? undefined : this.#options.plans)
      requireFuture(changes.expiresAtMs, nowMs)
      return changed
    }
    return { what: 'keys.change', change }
  }

  /** The end of a key for good. */
  revoking(): KeyEdit {
    const change = (key: Key): Key => ({
      ...key,
      revokedAtMs: key.revokedAtMs ?? this.#options.clock(),
    })
    return { what: 'keys.revoke', change }
  }

  disabling(disabled: boolean): KeyEdit {
    const change = (key: Key): Key => {
      requireAlive(key)
      return { ...key, disabled: disabled || undefined }
    }
    return { what: disabled ? 'keys.disable' : 'keys.enable', change }
  }

  /** Makes a change. A ban goes with a key to another quota. */
  async edit(id: string, edit: KeyEdit): Promise<Key> {
    let before = ''
    const change = (key: Key): Key => {
      before = quotaOf(key)
      return edit.change(key)
    }
    const after = await this.#edit(id, { ...edit, change })
    if (this.#options.quota) await moveBan(this.#options.quota, id, before, quotaOf(after))
    return after
  }

  /**
   * Gives a key a new secret. The last one still works for `overlapMs`; older ones end now.
   */
  async rotate(id: string, overlapMs: number): Promise<Issued> {
    const token = newToken(id)
    const now = this.#options.clock()
    const change = (key: Key): Key => {
      requireAlive(key)
      requireOwn(key, 'token')
      return { ...key, secrets: secretsAfterRotation(key.secrets, hashOf(token), now, overlapMs) }
    }
    const key = await this.#edit(id, { what: 'keys.rotate', change })
    return { key, token }
  }

  async #read(id: string): Promise<StoredKey> {
    const stored = await this.#options.store.get(id)
    if (!stored) throw new KeyMistake(`there is no key with the id "${id}"`, 'not_found')
    return stored
  }

  async #edit(id: string, { what, change, act }: KeyEdit): Promise<Key> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const { key, version } = await this.#read(id)
      const changed = change(key)
      if (changed === key) return key
      if (await this.#options.store.replace(touched(changed), version)) {
        await this.#note(what, key, changed, act)
        return changed
      }
    }
    throw new KeyMistake(`the key "${id}" is being changed by others; try again`, 'conflict')
  }

  async #note(what: string, before: Key | null, after: Key, act?: Act): Promise<void> {
    const now = this.#options.clock()
    await this.#options.noted?.({
      what,
      subject: after.id,
      before: before && keyView(before, now),
      after: keyView(after, now),
      act,
    })
  }
}
