import { Pool } from 'undici'
import type { HealthSettings, TargetSettings, Timeouts } from '../config/config.ts'
import type { TargetMeter } from '../records/meters.ts'

export type TargetOptions = Readonly<{
  settings: TargetSettings
  timeouts: Timeouts
  health: HealthSettings
  /** Where its answers are counted. */
  meter: TargetMeter
  /** The certificates to believe, in place of those that everybody believes. */
  ca: string | undefined
  /** Told when the target is taken out, and when it is let back in. */
  changed: (target: Target, cause?: Error) => void
  /** Told when so many requests in a row have failed that somebody should find out whether it is the target. */
  suspected: (target: Target, cause: Error) => void
}>

/** How long a target that has refused a signature counts as unfit, unless it refuses another. */
const distrustMs = 10_000

/** One place that serves requests: its connections, and whether it is fit to be asked. */
export class Target {
  readonly origin: string
  /** What it is called in the Host header of its requests. */
  readonly host: string
  readonly weight: number
  readonly pool: Pool
  readonly meter: TargetMeter
  /** A list of this target alone: most requests are tried nowhere else. */
  readonly alone: readonly Target[] = [this]
  /** How its turn is reckoned among others of its upstream. */
  turn = 0
  readonly #unhealthyAfter: number
  readonly #changed: TargetOptions['changed']
  readonly #suspected: TargetOptions['suspected']
  readonly #countsCallers: boolean
  /** How many requests in a row have failed, and whose. */
  #failures = 0
  #callers: string[] = []
  #failedChecks = 0
  #isHealthy = true
  #refusedSignatureAtMs = -Infinity

  constructor(options: TargetOptions) {
    const { settings, timeouts, health, ca } = options
    const url = new URL(settings.url)
    this.origin = url.origin
    this.host = url.host
    this.weight = settings.weight
    this.#unhealthyAfter = health.unhealthyAfter
    this.#countsCallers = health.path === undefined
    this.meter = options.meter
    this.#changed = options.changed
    this.#suspected = options.suspected
    this.pool = new Pool(url.origin, {
      pipelining: 1,
      // Time is kept by each exchange, exactly; undici's own limits are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: timeouts.connectMs,
        rejectUnauthorized: true,
        ...(ca === undefined ? {} : { ca }),
      },
    })
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** Whether requests that it gets are answered: it passes its checks, and takes our signature. */
  get isFit(): boolean {
    return this.#isHealthy && !this.refusesSignature
  }

  /** Whether it has refused our signature lately. */
  get refusesSignature(): boolean {
    return performance.now() - this.#refusedSignatureAtMs < distrustMs
  }

  /** It takes nothing that is signed with our secret. That is not asked for again: requests will tell. */
  refusedSignature(): void {
    this.#refusedSignatureAtMs = performance.now()
  }

  /** It has answered a request: whatever failed before was not the beginning of a row. */
  answered(status: number): void {
    this.meter.answered(status)
    if (this.#failures > 0) this.#forgive()
  }

  /**
   * It has broken off a request of a caller, or was late; without a caller: it took no connection. One caller may
   * provoke the former as often as it likes, so where no check can tell, it counts once in a row.
   */
  failed(cause: Error, caller?: string): void {
    if (caller !== undefined && this.#countsCallers) {
      if (this.#callers.includes(caller)) return
      this.#callers.push(caller)
    }
    if (++this.#failures < this.#unhealthyAfter) return
    this.#forgive()
    this.#suspected(this, cause)
  }

  /** It has failed a check; what it answers to requests meanwhile doesn't excuse that. */
  failedCheck(cause: Error): void {
    if (++this.#failedChecks >= this.#unhealthyAfter) this.takeOut(cause)
  }

  /** It has passed a check, which is the one way back in. */
  passedCheck(): void {
    this.#failedChecks = 0
    if (this.#isHealthy) return
    this.#forgive()
    this.#become(true)
  }

  takeOut(cause: Error): void {
    this.#become(false, cause)
  }

  #forgive(): void {
    this.#failures = 0
    this.#callers = []
  }

  #become(isHealthy: boolean, cause?: Error): void {
    if (this.#isHealthy === isHealthy) return
    this.#isHealthy = isHealthy
    this.#changed(this, cause)
  }
}
