import { type Static, timeSchema, Type } from '../../../shared/schema.ts'

const text = Type.String()

/** The configuration in force in one gateway. Times are milliseconds since 1970. */
const configSchema = Type.Object({
  // The beginning of the SHA-256 of its text.
  hash: text,
  // A hash of what gateways have in common: those with the same one go by the same configuration.
  sharedHash: text,
  // The time at which it went into force there.
  sinceMs: timeSchema,
  // The first mistake of the file as it is now, with its place, while the gateway refuses that file.
  refusal: Type.Optional(text),
})

export type MemberConfig = Readonly<Static<typeof configSchema>>

/** One gateway process, or one worker of several, as it tells of itself. */
export const memberSchema = Type.Object({
  // A random id of this process.
  id: text,
  name: text,
  host: text,
  pid: Type.Optional(Type.Number()),
  // The number of a worker; absent in a gateway of one process.
  worker: Type.Optional(Type.Number()),
  version: text,
  sinceMs: timeSchema,
  // Absent in an app that uses the plugin: its configuration is its own affair.
  config: Type.Optional(configSchema),
  // The name of its store, without a password.
  store: text,
  // The address for callers; absent before it listens.
  address: Type.Optional(text),
})

export type Member = Readonly<Static<typeof memberSchema>>

/** A gateway, and the time of its last beat. */
export type SeenMember = Member & Readonly<{ seenAtMs: number }>

/** The gateways of one store at one time. All times are by the store's clock. */
export type FleetState = Readonly<{
  nowMs: number
  members: readonly SeenMember[]
  /** The number of gateways of another version, which tell nothing about themselves. */
  silent: number
  /** The time since which the gateways go by different configurations; absent while they don't. */
  differSinceMs?: number | undefined
}>

/** News about the configurations of a fleet: they have differed for two minutes, or agree again after that. */
export type FleetNews = 'differ' | 'agree'

/** The silence after which a gateway counts as gone. */
export const goneMs = 5_000

/** How long configurations may differ before it is news: a rolling change takes a minute. */
export const differMs = 2 * 60_000

/**
 * The gateways that share a store. Each tells of itself every second, and is gone when it leaves, or after
 * `goneMs` of silence. No request waits for it.
 */
export interface FleetStore {
  /** The last known number of gateways, of any version, this one included; at least 1. */
  readonly size: number

  /** The last known number of different configurations in force. */
  readonly configs: number

  /**
   * Begins to tell of this process: `self` is asked before each beat, with times by this process's own clock. `heard`
   * gets each piece of news in one gateway of the fleet only. Returns the function that leaves the fleet, after which
   * the others count without this process at once. Neither throws while the store is out of reach.
   */
  join(self: () => Member, heard: (news: FleetNews) => void): () => Promise<void>

  /** The gateways now. A store that can't be asked at the moment rejects with `StoreUnavailable`. */
  list(): Promise<FleetState>

  /**
   * Takes a lease that one holder in the fleet has at a time, or keeps it. Resolves to the `about` of the holder, if that
   * is another one. A lease is free again `goneMs` after it was kept last. A store that can't be asked at the moment
   * rejects with `StoreUnavailable`.
   */
  take(lease: string, holder: string, about: string): Promise<string | undefined>

  /** Frees a lease at once, if this holder has it. */
  leave(lease: string, holder: string): Promise<void>

  /** Leaves with every process that has joined here. */
  close(): Promise<void>
}
