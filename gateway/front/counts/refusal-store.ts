/** The time for which answers are kept. */
export { dayMs as storedMs } from '../../../shared/windows.ts'

/** The most answers with one id that are found: callers choose ids, so there may be many. */
export const mostFound = 500

/** The most answers of a chunk. */
export const chunkSize = 250

/** The most answers of a gateway that are kept. */
export const keptRefusals = 20_000

/** The chunks of a gateway: one more than its answers fill, because the latest one is hardly ever full. */
export const chunksKept = keptRefusals / chunkSize + 1

/** A part of the answers that a gateway has refused or failed, without the answers themselves. */
export type RefusalIndex = Readonly<{
  /** The id of the gateway's process. */
  by: string
  /** Its place among the `chunksKept` chunks of the process. */
  place: number
  /** The time of its latest answer. */
  lastMs: number
  /** The short hashes of the answers' ids, four bytes each. */
  hashes: Buffer
}>

/** The same with the answers, as `refusal-chunk.ts` packs them. */
export type RefusalChunk = RefusalIndex & Readonly<{ answers: Buffer }>

/**
 * The latest refused and failed answers of all gateways, for a day. They are read only for gateways that can't be asked any
 * more: each one has its own in memory.
 *
 * No request waits for it. A store that can't be asked at the moment rejects with `StoreUnavailable`; then the gateway puts
 * the same chunk again, or a fuller one.
 */
export interface RefusalStore {
  /** Puts a chunk in place of the former one of its gateway and place. */
  put(chunk: RefusalChunk): Promise<void>

  /** The indexes of all chunks whose latest answer is later than a time, in any order. */
  indexes(afterMs: number): Promise<readonly RefusalIndex[]>

  /** The answers of a chunk, which may be later ones than those of its index; `undefined` if it is gone. */
  answers(index: RefusalIndex): Promise<Buffer | undefined>
}
