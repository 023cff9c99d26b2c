import type { WindowName } from '../../../shared/windows.ts'

/** Points of one address that the other gateways haven't heard of, in one of its windows. */
export type StrangerPoints = Readonly<{
  address: string
  window: WindowName
  /** The window, counted from 1970 in UTC. */
  number: number
  /** The rest of the window, after which nobody asks for this count. */
  leftMs: number
  points: number
}>

/**
 * The counts of strangers' addresses, of any number of gateways. No request waits for it, and a count ends by itself
 * soon after its window.
 */
export interface StrangerStore {
  /**
   * Adds points, and resolves to all points of each address and window, in the same order; `undefined` for those that
   * couldn't be added. Rejects with `StoreUnavailable` if none could. Points of a lost answer may be added twice.
   */
  add(all: readonly StrangerPoints[]): Promise<readonly (number | undefined)[]>
}
