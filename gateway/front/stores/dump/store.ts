import type { Key } from '../../keys/key.ts'
import type { KeyUses, LastUseStore } from '../../keys/last-use-store.ts'
import type { KeyStore } from '../../keys/store.ts'
import type { QuotaState } from '../../limits/quota-state.ts'
import type { Counts } from '../../shelves/counts.ts'
import type { Lists } from '../../shelves/lists.ts'
import type { AuditStore } from '../../records/audit-store.ts'
import type { LedgerStore } from '../../records/ledger-store.ts'

/** Stands for an entry that can't be read. */
export const damaged = Symbol('damaged')

export type Found<Item> = Item | typeof damaged | undefined

/** Entries that have names: all names, each once, and some entries in the order of theirs, `undefined` for one that is gone. */
export type Entries<Item> = Readonly<{
  names: () => Promise<string[]>
  of: (names: readonly string[]) => Promise<readonly Found<Item>[]>
}>

/** A store while it is dumped. Gateways may serve from it: each key and each quota is read at one moment. */
export interface ReadStore {
  /** Its name in messages; never with a password. */
  readonly name: string
  /** The gateways that serve from it now, by name; a file doesn't tell the name of its one. */
  gateways(): Promise<readonly string[]>
  /** Without those of an unfinished import. */
  readonly keys: Entries<Key>
  /** The quotas that still matter. */
  readonly quotas: Entries<QuotaState>
  readonly counts: Pick<Counts, 'list'>
  readonly lastUses: Pick<LastUseStore, 'of' | 'since'>
  readonly audit: Pick<AuditStore, 'since'>
  readonly ledger: Pick<LedgerStore, 'isClosed' | 'chunks'>
  close(): Promise<void>
}

export type NamedQuota = Readonly<{ quota: string; state: QuotaState }>

/** A store while it is loaded. It has no keys, quotas, counts and closed days. */
export interface WrittenStore {
  readonly keys: Pick<KeyStore, 'add'>
  readonly counts: Pick<Counts, 'add'>
  readonly ledger: Pick<LedgerStore, 'begin' | 'close'>
  readonly audit: Pick<AuditStore, 'add'>
  readonly lists: Pick<Lists, 'add'>
  putQuotas(quotas: readonly NamedQuota[]): Promise<void>
  /** Puts last uses with the times that they have; of a token that has one already, the later stays. */
  putUses(uses: readonly (readonly [key: string, uses: KeyUses])[]): Promise<void>
  /** Makes permanent what was put. Without it, a new file isn't there. */
  finish(): Promise<void>
  close(): Promise<void>
}
