/** The smallest share, whatever the number of quotas. */
const leastShare = 2

/** The requests that a quota has on their way, and its share. */
export type ShareTaken = Readonly<{ underWay: number; share: number }>

/**
 * Counts the requests of each quota on their way to an upstream. Once half of the room is taken, no quota gets
 * more than its share, so that a caller with slow or endless requests leaves room for others. A single caller
 * gets half of the room.
 */
export class FairShare {
  readonly #room: number
  readonly #countByQuota = new Map<string, number>()
  #count = 0

  constructor(room: number) {
    this.#room = room
  }

  /** Counts a request; `false` if its quota has its share already. */
  enter(quota: string): boolean {
    const own = this.#countByQuota.get(quota) ?? 0
    if ((this.#count + 1) * 2 > this.#room && own >= this.#share) return false
    this.#countByQuota.set(quota, own + 1)
    this.#count++
    return true
  }

  /** Counts a WebSocket of a request that was counted before, whatever the share. */
  add(quota: string): void {
    this.#countByQuota.set(quota, (this.#countByQuota.get(quota) ?? 0) + 1)
    this.#count++
  }

  leave(quota: string): void {
    const own = this.#countByQuota.get(quota) ?? 0
    if (own > 1) this.#countByQuota.set(quota, own - 1)
    else this.#countByQuota.delete(quota)
    this.#count--
  }

  /** The part of the room that a quota has, and the part that it may have. */
  takenBy(quota: string): ShareTaken {
    return { underWay: this.#countByQuota.get(quota) ?? 0, share: this.#share }
  }

  get #share(): number {
    return Math.max(leastShare, Math.floor(this.#room / (this.#countByQuota.size + 1)))
  }
}
