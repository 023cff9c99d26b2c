import { buildConnector, Pool } from 'undici'
import { asError } from '../../../shared/as-error.ts'
import { socketPathOf } from '../../../shared/unix-socket.ts'
import type { HealthSettings, TargetSettings, Timeouts } from '../config/config.ts'
import type { TargetMeter } from '../counts/meters.ts'
import type { TlsTexts } from '../../../shared/tls/files.ts'
import { originOf, webUrlOf } from './target-url.ts'

/**
 * The certificates at https targets. `texts` may be others later: connections made from then on go by them. What reading them
 * throws is why a connection fails.
 */
type TargetTls = Readonly<{
  certificates: Readonly<{ texts: TlsTexts }>
  /** The name that the target's certificate must have, in place of its host. */
  name: string | undefined
}>

export type TargetOptions = Readonly<{
  settings: TargetSettings
  timeouts: Timeouts
  health: HealthSettings
  /** Counts its answers. */
  meter: TargetMeter
  tls: TargetTls | undefined
  /** The headers of its checks; `undefined` without any. */
  headers: Readonly<Record<string, string>> | undefined
  /** Called when the target goes out, and when it is back. */
  changed: (target: Target, cause?: Error) => void
  /** Called after `unhealthyAfter` failed requests in a row: a check should find out whether it is the target. */
  suspected: (target: Target, cause: Error) => void
}>

/** The last request or check that failed. */
export type TargetFailure = Readonly<{ atMs: number; cause: string }>

/** How long a target counts as unfit after it has refused a signature. */
const distrustMs = 10_000

/** One address of an upstream, with its connections and its health. */
export class Target {
  readonly origin: string
  /** The origin by which its own answers call it. */
  readonly webOrigin: string
  /** The Host header of its requests. */
  readonly host: string
  readonly weight: number
  readonly pool: Pool
  readonly meter: TargetMeter
  readonly headers: TargetOptions['headers']
  /** A list of this target alone, for the many requests that need only one attempt. */
  readonly alone: readonly Target[] = [this]
  /** Its credit in the weighted round of its upstream; see `Upstream.choose`. */
  turn = 0
  readonly #unhealthyAfter: number
  readonly #changed: TargetOptions['changed']
  readonly #suspected: TargetOptions['suspected']
  readonly #countsCallers: boolean
  /** The number of failed requests in a row, and their callers. */
  #failures = 0
  #callers: string[] = []
  #failedChecks = 0
  #isHealthy = true
  #healthSinceMs = Date.now()
  #lastFailure: TargetFailure | undefined
  #refusedSignatureAtMs = -Infinity

  constructor(options: TargetOptions) {
    const { settings, timeouts, health, tls } = options
    const url = webUrlOf(settings.url)
    this.origin = originOf(settings.url)
    this.webOrigin = url.origin
    this.host = url.host
    this.weight = settings.weight
    this.#unhealthyAfter = health.unhealthyAfter
    this.#countsCallers = health.path === undefined
    this.meter = options.meter
    this.headers = options.headers
    this.#changed = options.changed
    this.#suspected = options.suspected
    this.pool = new Pool(url.origin, {
      pipelining: 1,
      // Each attempt keeps its time limits exactly; undici's own are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connectorTo(socketPathOf(settings.url), tls, timeouts.connectMs),
    })
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** The time since which it is healthy, or isn't. */
  get healthSinceMs(): number {
    return this.#healthSinceMs
  }

  get lastFailure(): TargetFailure | undefined {
    return this.#lastFailure
  }

  /** Whether it answers requests: it is healthy, and accepts our signature. */
  get isFit(): boolean {
    return this.#isHealthy && !this.refusesSignature
  }

  /** Whether it refused our signature within the last seconds. */
  get refusesSignature(): boolean {
    return performance.now() - this.#refusedSignatureAtMs < distrustMs
  }

  /** Notes that it refused our signature. No check repeats this: the next request will show it. */
  refusedSignature(): void {
    this.#refusedSignatureAtMs = performance.now()
  }

  /** Notes an answer, which ends a row of failures. */
  answered(status: number): void {
    this.meter.answered(status)
    if (this.#failures > 0) this.#resetFailures()
  }

  /**
   * Notes a failed request: broken off or late for a caller, or, without a caller, a refused connection. A caller
   * can provoke the first kind at will, so without a check each caller counts once in a row.
   */
  failed(cause: Error, caller?: string): void {
    this.#note(cause)
    if (caller !== undefined && this.#countsCallers) {
      if (this.#callers.includes(caller)) return
      this.#callers.push(caller)
    }
    if (++this.#failures < this.#unhealthyAfter) return
    this.#resetFailures()
    this.#suspected(this, cause)
  }

  /** Notes a failed check. Answers to requests don't make up for it. */
  failedCheck(cause: Error): void {
    this.#note(cause)
    if (++this.#failedChecks >= this.#unhealthyAfter) this.takeOut(cause)
  }

  /** Notes a passed check, which is the only way back. */
  passedCheck(): void {
    this.#failedChecks = 0
    if (this.#isHealthy) return
    this.#resetFailures()
    this.#setHealthy(true)
  }

  takeOut(cause: Error): void {
    this.#setHealthy(false, cause)
  }

  #note({ message }: Error): void {
    this.#lastFailure = { atMs: Date.now(), cause: message }
  }

  #resetFailures(): void {
    this.#failures = 0
    this.#callers = []
  }

  #setHealthy(isHealthy: boolean, cause?: Error): void {
    if (this.#isHealthy === isHealthy) return
    this.#isHealthy = isHealthy
    this.#healthSinceMs = Date.now()
    this.#changed(this, cause)
  }
}

type Connect = ReturnType<typeof buildConnector>

/**
 * The function by which undici connects to a target. It names the server by the origin in TLS, or by the name of `tls`. undici
 * would go by the `servername` of requests or by their Host, which may be a caller's, and it ends a connection for a request
 * with another one; so all requests have the same.
 */
function connectorTo(
  socketPath: string | undefined,
  tls: TargetTls | undefined,
  timeout: number,
): Connect {
  // By TLS it would offer HTTP/2.
  const settings = { timeout, allowH2: false, rejectUnauthorized: true }
  if (!tls || socketPath !== undefined) {
    const connect = buildConnector(
      socketPath === undefined ? settings : { ...settings, socketPath },
    )
    return (options, done) => connect({ ...options, servername: '' }, done)
  }
  const { certificates, name: servername = '' } = tls
  let texts: TlsTexts | undefined
  let connect: Connect
  return (options, done) => {
    try {
      const present = certificates.texts
      // With the connector its sessions are forgotten, which nobody would check again.
      if (texts !== present) connect = buildConnector({ ...present, ...settings })
      texts = present
    } catch (error) {
      return done(asError(error), null)
    }
    connect({ ...options, servername }, done)
  }
}
