import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { timeText } from '../../shared/times.ts'
import type { Stores } from '../front/stores/stores.ts'

/** How long an emptied store is a warning. */
const emptiedForMs = 60 * 60_000

/** The time between two looks for new warnings. */
const lookEveryMs = 1_000

export type StoreWarningsOptions = Readonly<{
  stores: Pick<Stores, 'warnings'>
  clock: Clock
  log: Log
}>

/** Logs each warning about the store once when it comes up, and gives those of the moment to `/readyz`. */
export class StoreWarnings {
  readonly #options: StoreWarningsOptions
  readonly #timer: NodeJS.Timeout
  #logged = new Set<string>()
  #emptiedAtMs = -Infinity

  constructor(options: StoreWarningsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#log(), lookEveryMs).unref()
    this.#log()
  }

  get present(): readonly string[] {
    const { stores, clock } = this.#options
    const isRecent = clock() - this.#emptiedAtMs < emptiedForMs
    return isRecent ? [...stores.warnings, emptiedText(this.#emptiedAtMs)] : stores.warnings
  }

  /** The store was emptied just now. */
  emptied(): void {
    this.#emptiedAtMs = this.#options.clock()
    this.#log()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #log(): void {
    const { present } = this
    for (const text of present) if (!this.#logged.has(text)) this.#options.log.warn({}, text)
    this.#logged = new Set(present)
  }
}

function emptiedText(atMs: number): string {
  return (
    `the store was emptied, or another one took its place, at ${timeText(atMs)}: callers whose keys it ` +
    'doesn’t have get 401. Restore a backup, or make new keys'
  )
}
