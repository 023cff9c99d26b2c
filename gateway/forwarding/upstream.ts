import type { Duplex } from 'node:stream'
import { lingerMs } from '../../shared/node/linger.ts'
import type { UpstreamSettings } from '../config/config.ts'
import type { Meters } from '../records/meters.ts'
import { UnderWay } from './under-way.ts'
import { FairShare } from './fair-share.ts'
import { HealthWatch } from './health.ts'
import { Target } from './target.ts'

/** What upstreams tell of themselves; one line each time, not one a request. */
export type UpstreamLog = Readonly<{
  out: (upstream: string, target: string, cause: Error | undefined) => void
  back: (upstream: string, target: string) => void
}>

/** A backend by its name: one or more targets that share its requests by their weights. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly targets: readonly Target[]
  readonly #watches: readonly HealthWatch[]
  readonly #tunnels = new Set<Duplex>()
  /** Counts attempts that are under way, and WebSockets. */
  readonly underWay = new UnderWay()
  /** How its callers share its room; `undefined` where `fair` is off. */
  readonly share: FairShare | undefined
  readonly #origins: readonly string[]
  #isCut = false

  constructor(settings: UpstreamSettings, log: UpstreamLog, meters: Meters) {
    this.settings = settings
    const { name, timeouts, health, maxInFlight, isFair } = settings
    this.share = isFair ? new FairShare(maxInFlight) : undefined
    const changed = (target: Target, cause?: Error): void => {
      this.#watches.forEach((watch) => watch.plan())
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
    this.#watches.forEach((watch) => watch.plan())
  }

  get origins(): readonly string[] {
    return this.#origins
  }

  /** Whether there is room for another request. */
  get hasRoom(): boolean {
    return this.underWay.count < this.settings.maxInFlight
  }

  /**
   * Takes the two ends of a connection that becomes something else than HTTP: when one ends, so does the
   * other. What it gives back lets them flow into each other.
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

  /** Lets requests on their way finish, and then closes all connections. */
  async close(): Promise<void> {
    this.#watches.forEach((watch) => watch.stop())
    await this.underWay.none()
    await Promise.all(this.targets.map(({ pool }) => pool.destroy()))
  }

  #isLastHealthy(target: Target): boolean {
    return !this.targets.some((other) => other !== target && other.isHealthy)
  }

  /** The target whose turn it is: each gains its weight a round, and the one with the most pays for all. */
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
