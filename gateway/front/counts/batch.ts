/** Lines that one gateway has counted. Its batches are numbered in their order, so that each is added once. */
export type Batch<Line> = Readonly<{ by: string; number: number; lines: readonly Line[] }>

/**
 * A store to which any number of gateways add their counts from time to time. No request waits for it.
 *
 * A store that can't be asked at the moment rejects with `StoreUnavailable`. It may have added part of the batch, so
 * the gateway hands the same batch in again.
 */
export interface CountStore<Line> {
  /** Adds a batch. What was added already of one with a known number of `by` is ignored. */
  add(batch: Batch<Line>): Promise<void>
}
