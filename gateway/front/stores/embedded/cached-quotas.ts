import { sortedBy } from '../../../../shared/in-order.ts'
import type { QuotaGrants } from '../../limits/grants.ts'
import type { Parts } from '../../limits/parts.ts'
import type { Places } from '../../limits/places.ts'
import type { PastPoints } from '../../limits/past-points.ts'
import type { Purse } from '../../limits/purse.ts'
import type { Conduct } from '../../limits/conduct.ts'
import { newQuota, type QuotaState } from '../../limits/quota-state.ts'
import type { CacheSlot } from '../../limits/step.ts'
import { numberOf } from '../../limits/counters.ts'
import { numberAt, shortest } from '../../../../shared/windows.ts'

/** The number of quotas up to which none is evicted; evicted ones are read again when they are asked for. */
const mostCached = 100_000

/** A quota in memory, and whether the file has its counters. One object holds both, because there are many. */
export class CachedQuota implements QuotaState {
  readonly quota: string
  total: number
  marks: number[]
  monthFrom: number
  generation: number
  conducts: Map<string, Conduct> | undefined
  // Most quotas have none of these, which would take 24 bytes of each.
  declare grants?: QuotaGrants | undefined
  declare past?: PastPoints | undefined
  declare parts?: Parts | undefined
  declare beyond?: PastPoints | undefined
  declare purse?: Purse | undefined
  declare resetGeneration?: number | undefined
  declare places?: Places | undefined
  /** Whether the file lacks the latest counters. */
  isUnsaved = false
  /** Whether the file has counters in its journal that its table lacks. */
  isJournaled = false
  /** Whether the cache has evicted it: a slot that still holds it must look the quota up again. */
  isEvicted = false

  constructor(quota: string, state: QuotaState) {
    this.quota = quota
    this.total = state.total
    this.marks = state.marks
    this.monthFrom = state.monthFrom
    this.generation = state.generation
    this.conducts = state.conducts
    if (state.grants) this.grants = state.grants
    if (state.past) this.past = state.past
    if (state.parts) this.parts = state.parts
    if (state.beyond) this.beyond = state.beyond
    if (state.purse) this.purse = state.purse
    if (state.resetGeneration) this.resetGeneration = state.resetGeneration
  }
}

/** The quotas that a gateway has in memory, by name. */
export class CachedQuotas {
  readonly #read: (quota: string) => QuotaState | undefined
  readonly #byName = new Map<string, CachedQuota>()
  #all: CachedQuota[] = []
  #isSorted = true

  /** `read` reads a quota that isn't in memory. */
  constructor(read: (quota: string) => QuotaState | undefined) {
    this.#read = read
  }

  has(quota: string): boolean {
    return this.#byName.has(quota)
  }

  /** A quota that is in memory; it is read no more than that. */
  inMemory(quota: string): CachedQuota | undefined {
    return this.#byName.get(quota)
  }

  get(quota: string): CachedQuota {
    return this.#byName.get(quota) ?? this.add(quota, this.#read(quota) ?? newQuota())
  }

  /** Like `get`, but keeps the quota in the caller's slot, which spares the next look-up. */
  getVia(slot: CacheSlot, quota: string): CachedQuota {
    const { record } = slot
    if (record instanceof CachedQuota && record.quota === quota && !record.isEvicted) return record
    return (slot.record = this.get(quota))
  }

  add(quota: string, state: QuotaState): CachedQuota {
    const cached = new CachedQuota(quota, state)
    this.#byName.set(quota, cached)
    this.#all.push(cached)
    this.#isSorted = false
    return cached
  }

  get all(): readonly CachedQuota[] {
    return this.#all
  }

  /** Sorts them in the order of the file's table. Additions meanwhile and later follow unsorted. */
  async sort(): Promise<void> {
    if (this.#isSorted) return
    this.#isSorted = true
    const { length } = this.#all
    const sorted = await sortedBy(this.#all, ({ quota }) => quota)
    this.#all = sorted.concat(this.#all.slice(length))
  }

  /** Evicts quotas without requests in this minute or the last that the file's table has, if there are many. */
  evictIdle(nowMs: number): void {
    if (this.#all.length <= mostCached) return
    const last = numberAt(shortest, nowMs) - 1
    for (const cached of this.#all) {
      cached.isEvicted =
        numberOf(cached, shortest) < last && !cached.isUnsaved && !cached.isJournaled
      if (cached.isEvicted) this.#byName.delete(cached.quota)
    }
    this.#all = this.#all.filter(({ isEvicted }) => !isEvicted)
  }
}
