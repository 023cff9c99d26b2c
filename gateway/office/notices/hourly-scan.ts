import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../../front/config/config.ts'
import { expiringKeys, nearSunsets, type NearEndsOptions } from './ends-soon.ts'
import type { Outbox } from './outbox.ts'

/** The time between two walks. */
const everyMs = 3_600_000

/** The time from the start to the first walk. */
const firstMs = 60_000

export type WalksOptions = Readonly<{
  stores: NearEndsOptions['stores']
  /** The configuration in force. */
  config: () => Config
  outbox: Outbox
  clock: Clock
}>

/** Walks through all keys and sunsets once an hour, and adds the notices of those whose end is near. */
export class HourlyScan {
  readonly #options: WalksOptions
  #nextAtMs: number
  #walking: Promise<void> | undefined
  /** The notices of sunsets that were added: counting their callers takes long. */
  readonly #sunsets = new Set<string>()

  constructor(options: WalksOptions) {
    this.#options = options
    this.#nextAtMs = options.clock() + firstMs
  }

  /** Begins a walk if it is time for one. */
  beginIfDue(): void {
    const nowMs = this.#options.clock()
    if (nowMs < this.#nextAtMs) return
    this.#nextAtMs = nowMs + everyMs
    void this.walk()
  }

  /** Walks now; what fails is tried again at the next walk. */
  walk(): Promise<void> {
    return (this.#walking ??= this.#walk()
      .catch(() => undefined)
      .finally(() => (this.#walking = undefined)))
  }

  /** Resolves once no walk is under way. */
  async ended(): Promise<void> {
    await this.#walking
  }

  async #walk(): Promise<void> {
    const { stores, config, outbox, clock } = this.#options
    if (outbox.wants('operation.sunset_near')) {
      const walked = { stores, config: config(), clock }
      for (const notice of await nearSunsets(walked, (id) => this.#sunsets.has(id))) {
        await outbox.addNow(notice)
        this.#sunsets.add(notice.id)
      }
    }
    if (!outbox.wants('key.expiring')) return
    for await (const notice of expiringKeys({ stores, clock })) {
      await outbox.addNow(notice)
      await breathe()
    }
  }
}
