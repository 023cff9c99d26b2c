import { randomUUID } from 'node:crypto'
import { Lease } from '../../front/fleet/lease.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { Comparison, type ComparisonOptions } from './comparison.ts'
import type { ComparisonSettings } from './comparison-view.ts'

/** Leads comparisons of a would-be backend with real traffic, for the workers of this gateway. */
export class Comparisons {
  readonly #options: ComparisonOptions
  #running: Comparison | undefined

  constructor(options: ComparisonOptions) {
    this.#options = options
  }

  /**
   * Begins a comparison, if none runs in the fleet: otherwise it throws a `KeyMistake` that tells of the other one.
   * `about` is a sentence for others who try; `noted` is called once the lease is taken.
   */
  async begin(
    settings: ComparisonSettings,
    about: string,
    noted: () => Promise<void>,
  ): Promise<Comparison> {
    const { fleet } = this.#options
    const id = randomUUID()
    const lease = new Lease({ fleet, name: 'comparison', holder: id, about })
    const other = await lease.take()
    if (other !== undefined) {
      throw new KeyMistake(`one comparison at a time: ${other}`, 'conflict')
    }
    try {
      await noted()
    } catch (error) {
      await lease.leave()
      throw error
    }
    const comparison = new Comparison(id, settings, lease, this.#options)
    this.#running = comparison
    return comparison
  }

  /** Ends the comparison that runs, because the gateway stops. */
  stop(): void {
    void this.#running?.end('stop')
  }
}
