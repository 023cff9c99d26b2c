import type { SwapProgress } from './progress.ts'

/** A swap by its upstream and the digest of its description: another description is another swap. */
export type SwapName = Readonly<{ upstream: string; id: string }>

/** The counts of one process in a round, as a text. Later ones of a process take the place of its former ones. */
export type ProcessRound = Readonly<{ by: string; round: number; counts: string }>

/** Where a swap stands, by the store's clock. */
export type SeenSwap = Readonly<{
  nowMs: number
  /** Rises with each change; 0 for a swap that nobody has begun. */
  version: number
  progress: SwapProgress | undefined
  /** The counts of all processes in this round. */
  counts: readonly string[]
}>

/** How long a swap is remembered that no gateway asks for. */
export const swapKeptMs = 90 * 86_400_000

/** Where swaps stand. A store that can't be asked at the moment rejects with `StoreUnavailable`. */
export interface SwapStore {
  /** Where a swap stands. Counts of another round than the present one are dropped. */
  look(name: SwapName, processRound?: ProcessRound): Promise<SeenSwap>
  /** Puts a progress in place of the version that was seen; `false` if another change came first. */
  change(name: SwapName, version: number, progress: SwapProgress): Promise<boolean>
}
