import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import type { HealthSettings, TargetSettings, Timeouts } from '../config/config.ts'

export type TargetOptions = Readonly<{
  settings: TargetSettings
  timeouts: Timeouts
  health: HealthSettings
  /** A file with the certificates to believe, in place of those that everybody believes. */
  caFile: string | undefined
  /** Told when the target is taken out, and when it is let back in. */
  changed: (target: Target, cause?: Error) => void
}>

/** One place that serves requests: its connections, and whether it is fit to be asked. */
export class Target {
  readonly origin: string
  /** What it is called in the Host header of its requests. */
  readonly host: string
  readonly weight: number
  readonly pool: Pool
  /** A list of this target alone: most requests are tried nowhere else. */
  readonly alone: readonly Target[] = [this]
  /** How its turn is reckoned among others of its upstream. */
  turn = 0
  readonly #unhealthyAfter: number
  readonly #changed: TargetOptions['changed']
  #failures = 0
  #failedChecks = 0
  #isHealthy = true

  constructor({ settings, timeouts, health, caFile, changed }: TargetOptions) {
    const url = new URL(settings.url)
    this.origin = url.origin
    this.host = url.host
    this.weight = settings.weight
    this.#unhealthyAfter = health.unhealthyAfter
    this.#changed = changed
    this.pool = new Pool(url.origin, {
      pipelining: 1,
      // Time is kept by each exchange, exactly; undici's own limits are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: timeouts.connectMs,
        rejectUnauthorized: true,
        ...(caFile === undefined ? {} : { ca: certificates(caFile) }),
      },
    })
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** It has answered a request: whatever failed before was not the beginning of a row. */
  answered(): void {
    this.#failures = 0
  }

  /** It has refused a request, broken it off or dawdled; so many times in a row take it out. */
  failed(cause: Error): void {
    if (++this.#failures >= this.#unhealthyAfter) this.#become(false, cause)
  }

  /** It has failed a check. What it answers to requests meanwhile doesn't excuse that. */
  failedCheck(cause: Error): void {
    if (++this.#failedChecks >= this.#unhealthyAfter) this.#become(false, cause)
  }

  /** It has passed a check, which is the one way back in. */
  passedCheck(): void {
    this.#failedChecks = 0
    if (this.#isHealthy) return
    this.#failures = 0
    this.#become(true)
  }

  #become(isHealthy: boolean, cause?: Error): void {
    if (this.#isHealthy === isHealthy) return
    this.#isHealthy = isHealthy
    this.#changed(this, cause)
  }
}

function certificates(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`the certificates of an upstream (tls.ca) can't be read: ${reason}`)
  }
}
