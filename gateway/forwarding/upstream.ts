import type { Duplex } from 'node:stream'
import { lingerMs } from '../../shared/node/linger.ts'
import type { UpstreamSettings } from '../config/config.ts'
import type { Meters } from '../records/meters.ts'
import { UnderWay } from './under-way.ts'
import { FairShare } from '../http/fair-share.ts'
import { HealthWatch } from './health.ts'
import { Target } from './target.ts'

/** Logs changes of targets' health: one line for each change, not for each request. */
export type UpstreamLog = Readonly<{
  out: (upstream: string, target: string, cause: Error | undefined) => void
  back: (upstream: string, target: string) => void
}>

/** A backend by its name: one or more targets that share its requests by weight. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly targets: readonly Target[]
  readonly #watches: readonly HealthWatch[]
  readonly #tunnels = new Set<Duplex>()
  /** Attempts under way, and WebSockets. */
  readonly underWay = new UnderWay()
  /** The shares of its callers; `undefined` with `fair: off`. */
  readonly share: FairShare | undefined
  readonly #origins: readonly string[]
  #isCut = false

  constructor(settings: UpstreamSettings, log: UpstreamLog, meters: Meters) {
    this.settings = settings
    const { name, timeouts, health, maxInFlight, isFair } = settings
    this.share = isFair ? new FairShare(maxInFlight) : undefined
    const changed = (target: Target, cause?: Error): void => {
      this.#watches.forEach((watch) => watch.schedule())
      if (target.isHealthy) log.back(name, target.origin)
      else log.out(name, target.origin, cause)
    }
    const suspected = (target: Target, cause: Error): void =>
      this.#watches[this.targets.indexOf(target)]?.suspect(cause)
    const common = { timeouts, health, ca: settings.ca, changed, suspected }
    this.targets = settings.targets.map((target) => {
      const meter = meters.target(name, new URL(target.url).origin)
      return new Target({ ...common, settings: target, meter })
    })
    this.#origins = this.targets.map(({ origin }) => origin)
    this.#watches = this.targets.map(
      (target) => new HealthWatch(target, health, () => this.#isLastHealthy(target)),
    )
    this.#watches.forEach((watch) => watch.schedule())
  }

  get origins(): readonly string[] {
    return this.#origins
  }

  /** Whether there is room for another request. */
  get hasRoom(): boolean {
    return this.underWay.count < this.settings.maxInFlight
  }

  /**
   * Links both ends of a connection that becomes a WebSocket: when one ends, the other does, too. Returns the
   * function that starts the flow between them.
   */
  join(caller: Duplex, backend: Duplex, quota: string): () => void {
    this.underWay.began()
    this.share?.add(quota)
    const link = (end: Duplex, other: Duplex): void => {
      this.#tunnels.add(end)
      end.on('error', () => other.destroy())
      end.once('end', () => void setTimeout(() => other.destroy(), lingerMs).unref())
      end.once('close', () => {
        other.destroy()
        this.#tunnels.delete(end)
        if (end !== caller) return
        this.underWay.ended()
        this.share?.leave(quota)
      })
    }
    link(caller, backend)
    link(backend, caller)
    if (this.#isCut) caller.destroy()
    return () => void caller.pipe(backend).pipe(caller)
  }

  /** Destroys all WebSocket tunnels, and any that are agreed on later. */
  cutTunnels(): void {
    this.#isCut = true
    for (const end of this.#tunnels) end.destroy()
  }

  /** Waits for the requests under way, then closes all connections. */
  async close(): Promise<void> {
    this.#watches.forEach((watch) => watch.stop())
    await this.underWay.whenNone()
    await Promise.all(this.targets.map(({ pool }) => pool.destroy()))
  }

  #isLastHealthy(target: Target): boolean {
    return !this.targets.some((other) => other !== target && other.isHealthy)
  }

  /** The next target by weighted round robin: each gains its weight as credit, and the richest pays the sum. */
  choose(tried: readonly Target[]): Target | undefined {
    let best: Target | undefined
    let weights = 0
    for (const target of this.targets) {
      if (!target.isHealthy || tried.includes(target)) continue
      weights += target.weight
      target.turn += target.weight
      if (!best || target.turn > best.turn) best = target
    }
    if (best) best.turn -= weights
    return best
  }
}
