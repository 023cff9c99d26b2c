/** The smallest share, whatever the number of quotas. */
const leastShare = 2

/** The most quotas without a request on its way that are kept. */
const mostIdle = 1_000

/** The requests that a quota has on their way, and its share. */
export type ShareTaken = Readonly<{ underWay: number; share: number }>

/**
 * Counts the requests of each quota on their way to an upstream. Once half of the room is taken, no quota gets
 * more than its share, so that a caller with slow or endless requests leaves room for others. A single caller
 * gets half of the room.
 */
export class FairShare {
  readonly #room: number
  /**
   * Quotas keep their entries for a while when they have no request on its way: if each request added and deleted one,
   * the map would be made anew all the time, half of all memory that only full collections clean.
   */
  readonly #countByQuota = new Map<string, number>()
  #idle = 0
  #count = 0

  constructor(room: number) {
    this.#room = room
  }

  /** Counts a request; `false` if its quota has its share already. */
  enter(quota: string): boolean {
    if ((this.#count + 1) * 2 > this.#room && this.#countOf(quota) >= this.#share) return false
    this.add(quota)
    return true
  }

  /** Counts a WebSocket of a request that was counted before, whatever the share. */
  add(quota: string): void {
    const own = this.#countByQuota.get(quota)
    if (own === 0) this.#idle--
    this.#countByQuota.set(quota, (own ?? 0) + 1)
    this.#count++
  }

  leave(quota: string): void {
    const left = this.#countOf(quota) - 1
    this.#countByQuota.set(quota, left)
    this.#count--
    if (left === 0 && ++this.#idle > mostIdle) this.#forgetIdle()
  }

  #forgetIdle(): void {
    for (const [quota, count] of this.#countByQuota) {
      if (count === 0) this.#countByQuota.delete(quota)
    }
    this.#idle = 0
  }

  /** The part of the room that a quota has, and the part that it may have. */
  takenBy(quota: string): ShareTaken {
    return { underWay: this.#countOf(quota), share: this.#share }
  }

  #countOf(quota: string): number {
    return this.#countByQuota.get(quota) ?? 0
  }

  get #share(): number {
    return Math.max(leastShare, Math.floor(this.#room / (this.#countByQuota.size - this.#idle + 1)))
  }
}
