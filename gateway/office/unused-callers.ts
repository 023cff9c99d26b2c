import { breathe } from '../../shared/breathe.ts'
import type { Clock } from '../../shared/clock.ts'
import { dayMs } from '../../shared/windows.ts'
import { Lease } from '../front/fleet/lease.ts'
import { inUse, wantedByUse } from '../front/keys/in-use.ts'
import type { Key } from '../front/keys/key.ts'
import type { Noted } from '../front/records/audit.ts'
import type { Stores } from '../front/stores/stores.ts'

/** The time after which a record that nobody used is taken away. */
const unusedMs = 90 * dayMs

/** The time between two looks, and from the start to the first one. */
const everyMs = dayMs
const firstMs = 10 * 60_000

/** The time between two looks at the clock. */
const tickMs = 60_000

export type UnusedCallersOptions = Readonly<{
  stores: Pick<Stores, 'keys' | 'lastUses' | 'fleet'>
  self: Readonly<{ id: string; name: string }>
  /** Whether callers come from outside. */
  isNeeded: () => boolean
  noted: Noted
  clock: Clock
  /** Called when a look fails; the next one tries again. */
  failed: (error: unknown) => void
}>

/**
 * Takes away the records of callers from outside that nobody has used for 90 days and no operator has touched, once a day
 * and by one gateway of the fleet. One that comes again gets a new record with the same id.
 */
export class UnusedCallers {
  readonly #options: UnusedCallersOptions
  readonly #lease: Lease
  readonly #timer: NodeJS.Timeout
  #nextAtMs: number
  #looking: Promise<void> | undefined

  constructor(options: UnusedCallersOptions) {
    const { stores, self, clock } = options
    this.#options = options
    const about = self.name
    this.#lease = new Lease({ fleet: stores.fleet, name: 'unused-callers', holder: self.id, about })
    this.#nextAtMs = clock() + firstMs
    this.#timer = setInterval(() => this.beginIfDue(), tickMs).unref()
  }

  /** Begins a look if it is time for one. */
  beginIfDue(): void {
    const { clock, isNeeded } = this.#options
    const nowMs = clock()
    if (nowMs < this.#nextAtMs || !isNeeded()) return
    this.#nextAtMs = nowMs + everyMs
    void this.look()
  }

  /** Looks now; what fails is tried again at the next look. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look()
      .catch((error: unknown) => this.#options.failed(error))
      .finally(() => (this.#looking = undefined)))
  }

  /** Ends; a look that is under way is finished. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  async #look(): Promise<void> {
    const { stores, clock, noted } = this.#options
    if ((await this.#lease.take()) !== undefined) return
    const { keys, lastUses } = stores
    const sinceMs = await lastUses.since()
    const isUnused = wantedByUse({ unused: unusedMs }, { nowMs: clock(), sinceMs })
    let count = 0
    for await (const each of inUse(mayGo(keys.list()), lastUses)) {
      if (!isUnused(each)) continue
      const stored = await keys.get(each.key.id)
      if (stored && isOwn(stored.key) && (await keys.remove(stored))) count++
      await breathe()
    }
    if (count > 0) {
      await noted({ what: 'keys.forget', subject: 'keys', before: null, after: { count } })
    }
    await this.#lease.leave()
  }
}

/** Whether all that a record says comes from its issuer. */
function isOwn({ kind, isTouched }: Key): boolean {
  return kind !== undefined && isTouched !== true
}

async function* mayGo(all: AsyncIterable<Key>): AsyncGenerator<Key, void> {
  let count = 0
  for await (const key of all) {
    if (isOwn(key)) yield key
    // Lets the gateway serve requests.
    if (++count % 200 === 0) await breathe()
  }
}
