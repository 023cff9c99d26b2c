import type { Clock } from '../../../shared/clock.ts'
import type { Lease } from '../../front/fleet/lease.ts'
import type { FleetStore } from '../../front/fleet/store.ts'
import { comparisonView, type ComparisonSettings, type ComparisonView } from './comparison-view.ts'
import {
  processCountsFrom,
  type Ending,
  type Mirrors,
  type MirrorCommand,
  type ProcessCounts,
} from './mirrors.ts'

/** The time between two rounds, in which the counts are gathered and the lease is kept. */
const roundMs = 1_000

/** Asks the other workers of a gateway, and gives the answers that come in time. */
export type Siblings = Readonly<{ gather: (about: unknown) => Promise<readonly unknown[]> }>

export type ComparisonOptions = Readonly<{
  mirrors: Mirrors
  fleet: FleetStore
  /** `undefined` in a gateway of one process. */
  siblings: Siblings | undefined
  clock: Clock
}>

/** One comparison, from its beginning to its end. */
export class Comparison {
  readonly #id: string
  readonly #settings: ComparisonSettings
  /** The one that one comparison of a fleet has. */
  readonly #lease: Lease
  readonly #options: ComparisonOptions
  readonly #sinceMs: number
  readonly #beganAtMs = performance.now()
  readonly #countsByProcess = new Map<string, ProcessCounts>()
  readonly #hearers = new Set<() => void>()
  #elapsedMs = 0
  #round = 0
  #ending: Ending | undefined
  /** Its ending, when all counts are there. */
  #ended: Ending | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #keeping: NodeJS.Timeout

  constructor(id: string, settings: ComparisonSettings, lease: Lease, options: ComparisonOptions) {
    this.#id = id
    this.#settings = settings
    this.#lease = lease
    this.#options = options
    this.#sinceMs = options.clock()
    // By itself: a worker that answers late must not cost the lease.
    this.#keeping = setInterval(() => void this.#keepLease(), roundMs).unref()
    void this.#go()
  }

  get isOver(): boolean {
    return this.#ended !== undefined
  }

  /** The number of the latest news. */
  get round(): number {
    return this.#round
  }

  get view(): ComparisonView {
    return comparisonView({
      settings: this.#settings,
      sinceMs: this.#sinceMs,
      elapsedMs: this.#elapsedMs,
      ended: this.#ended,
      processes: [...this.#countsByProcess.values()],
      fleet: this.#options.fleet.size,
    })
  }

  /** Calls a function after each round, and at the end. Returns the function that ends that. */
  onNews(heard: () => void): () => void {
    this.#hearers.add(heard)
    return () => this.#hearers.delete(heard)
  }

  /** Ends it. At a stop of the gateway, with the counts that are there. */
  async end(ending: Ending): Promise<void> {
    if (this.#ending) return
    this.#ending = ending
    clearTimeout(this.#timer)
    clearInterval(this.#keeping)
    const left = this.#lease.leave()
    if (ending === 'stop') this.#take(this.#options.mirrors.apply(this.#order(true)))
    else await Promise.all([this.#gather(true), left])
    this.#ended = ending
    this.#tell()
  }

  async #go(): Promise<void> {
    await this.#gather(false)
    if (this.#ending) return
    const endedCounts = [...this.#countsByProcess.values()].find(({ ended }) => ended !== undefined)
    if (endedCounts?.ended) return this.end(endedCounts.ended)
    const leftMs = this.#settings.forMs - this.#elapsedMs
    if (leftMs <= 0) return this.end('time')
    this.#tell()
    this.#timer = setTimeout(() => void this.#go(), Math.min(roundMs, leftMs)).unref()
  }

  async #gather(isOver: boolean): Promise<void> {
    const order = this.#order(isOver)
    const own = this.#options.mirrors.apply(order)
    const others = (await this.#options.siblings?.gather(order)) ?? []
    // Two rounds may be under way at the end: the last one counts.
    if (this.#ending && !isOver) return
    this.#take(own)
    for (const answer of others)
      processCountsFrom(answer, this.#id).forEach((counts) => this.#take(counts))
    this.#elapsedMs = performance.now() - this.#beganAtMs
  }

  async #keepLease(): Promise<void> {
    // While the store is out of reach, nobody else can take the lease either.
    const other = await this.#lease.take().catch(() => undefined)
    if (other !== undefined) void this.end('place')
  }

  #order(isOver: boolean): MirrorCommand {
    const { url, upstream, share } = this.#settings
    return { comparison: this.#id, url, upstream: upstream.name, share, isOver }
  }

  #take(counts: ProcessCounts): void {
    this.#countsByProcess.set(counts.member, counts)
  }

  #tell(): void {
    this.#round++
    for (const heard of [...this.#hearers]) heard()
  }
}
