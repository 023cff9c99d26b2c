/** The most bytes of a document. */
export const mostBytes = 262_144

/** A document as it was read. Times are the store's. */
export type Document = Readonly<{
  name: string
  /** Rises with each put, from 1 on. */
  version: number
  untilMs: number
  body: Buffer
}>

export type PutOptions = Readonly<{
  /** How long it is kept from now on. */
  keptMs: number
  /** Puts it only in place of this version, 0 for none. Such a put is one step, and outlives a power cut. */
  version?: number
}>

/**
 * Small documents in folders, for any number of processes. Folders and names are any texts of at most 1,024 characters; a
 * folder is there as long as one of its documents. One that has ended is as good as gone.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`; then a put may have happened or not.
 */
export interface Documents {
  /** The documents of a folder, in any order, and the store's time. */
  list(folder: string): Promise<Readonly<{ nowMs: number; documents: readonly Document[] }>>

  get(folder: string, name: string): Promise<Document | undefined>

  /** Puts a document of at most `mostBytes`; resolves to whether it did. */
  put(folder: string, name: string, body: string | Buffer, options: PutOptions): Promise<boolean>

  /** Takes a document away: of all that do so at once, one gets it. */
  take(folder: string, name: string): Promise<Document | undefined>
}

/** How long a store still knows the version of a document that has ended: the next one of that name goes on from it. */
export const rememberedMs = 60_000
