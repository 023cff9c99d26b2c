import type { StoreSettings } from '../config/config.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { RefusalStore } from '../counts/refusal-store.ts'
import type { FleetStore } from '../fleet/store.ts'
import type { KeyStore } from '../keys/store.ts'
import type { QuotaStore } from '../limits/store.ts'
import type { StrangerStore } from '../limits/stranger-store.ts'
import type { LastUseStore } from '../keys/last-use-store.ts'
import type { Counts } from '../shelves/counts.ts'
import type { Documents } from '../shelves/documents.ts'
import type { Lists } from '../shelves/lists.ts'
import type { Messages } from '../shelves/messages.ts'
import type { Records } from './records.ts'

/** The stores: all state that outlives a request and a configuration. */
export type Stores = Records &
  Readonly<{
    keys: KeyStore
    quota: QuotaStore
    counts: Counts
    lists: Lists
    documents: Documents
    messages: Messages
    lastUses: LastUseStore
    refusals: RefusalStore
    /** The counts of strangers of a fleet; absent in the store of one gateway, and in a command. */
    strangers?: StrangerStore | undefined
    fleet: FleetStore
    /** Sentences about the store for operators, at present. Without secrets, because `/readyz` needs no token. */
    warnings: readonly string[]
    /** Resolves when the stores can be asked, or when it gives up waiting. */
    ready(): Promise<void>
    /** The name of the store and, in plain words, why it can't be asked; `error` is the caller's own failure. */
    waitsFor(error?: Error): string
    /** Takes the credentials of these settings for connections from now on; the rest of them doesn't change. */
    renew?(settings: StoreSettings): void
    close(): Promise<void>
  }>

export type OpenOptions = Readonly<{
  /** Opens them for a command line or the thread of reports, which wait for a store and count nothing. */
  forCommandLine?: boolean
  clock?: Clock
}>
