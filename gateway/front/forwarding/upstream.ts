import type { Duplex } from 'node:stream'
import { lingerMs } from '../../../shared/node/linger.ts'
import type { HealthSettings, TargetSettings, UpstreamSettings } from '../config/config.ts'
import type { Meters } from '../counts/meters.ts'
import { UnderWay } from './under-way.ts'
import { FairShare } from '../http/fair-share.ts'
import type { Place } from '../limits/place.ts'
import type { Swap } from '../swaps/swap.ts'
import { HealthWatch } from './health.ts'
import { Target, type TargetOptions } from './target.ts'
import { originOf } from './target-url.ts'
import type { Certificates } from '../certificates.ts'
import type { FollowedTls } from '../../../shared/tls/followed.ts'

/** Logs changes of targets' health: one line for each change, not for each request. */
export type UpstreamLog = Readonly<{
  out: (upstream: string, target: string, cause: Error | undefined) => void
  back: (upstream: string, target: string) => void
}>

/** The options that all upstreams have in common. */
export type SharedOptions = Readonly<{
  log: UpstreamLog
  meters: Meters
  /** Opens and follows the files of certificates. */
  certificates: Certificates
}>

export type UpstreamOptions = SharedOptions &
  Readonly<{
    settings: UpstreamSettings
    /** The swap of its targets for others, if it is described. */
    swap: Swap | undefined
  }>

/** A backend by its name: one or more targets that share its requests by weight, and those that a swap leads to. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly swap: Swap | undefined
  /** The targets of both sides. */
  readonly targets: readonly Target[]
  readonly #side: Side
  /** The side that a swap leads to. */
  readonly #newSide: Side | undefined
  readonly #tunnels = new Set<Duplex>()
  /** Attempts under way, and WebSockets. */
  readonly underWay = new UnderWay()
  /** The shares of its callers; `undefined` with `fair: off`. */
  readonly share: FairShare | undefined
  /** The origins by which answers of its targets call them. */
  readonly origins: readonly string[]
  readonly #certificates: Certificates
  readonly #tls: FollowedTls | undefined
  #isCut = false

  constructor({ settings, log, meters, swap, certificates }: UpstreamOptions) {
    this.settings = settings
    this.swap = swap
    const { name, timeouts, health, headers, maxInFlight, isFair } = settings
    this.#certificates = certificates
    this.#tls = settings.tls && certificates.open(`upstream/${name}`, settings.tls)
    const tls = this.#tls && { certificates: this.#tls, name: settings.tls?.name }
    this.share = isFair ? new FairShare(maxInFlight) : undefined
    const options: SideOptions = {
      health,
      make: (target, about) => {
        const meter = meters.target(name, originOf(target.url))
        return new Target({ timeouts, health, tls, headers, settings: target, meter, ...about })
      },
      healthChanged: (target, cause) => {
        if (target.isHealthy) log.back(name, target.origin)
        else log.out(name, target.origin, cause)
      },
    }
    this.#side = new Side(settings.targets, options)
    this.#newSide = settings.swap && new Side(settings.swap.to, options)
    this.targets = [...this.#side.targets, ...(this.#newSide?.targets ?? [])]
    this.origins = [...new Set(this.targets.map(({ webOrigin }) => webOrigin))]
  }

  /** Whether there is room for another request. */
  get hasRoom(): boolean {
    return this.underWay.count < this.settings.maxInFlight
  }

  /**
   * Links both ends of a connection that becomes a WebSocket: when one ends, the other does, too. Returns the
   * function that starts the flow between them.
   */
  join(caller: Duplex, backend: Duplex, quota: string, place: Place | undefined): () => void {
    this.underWay.began()
    this.share?.add(quota)
    place?.stay()
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
        place?.leave()
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
    this.#side.stop()
    this.#newSide?.stop()
    if (this.#tls) this.#certificates.release(this.#tls)
    await this.underWay.whenNone()
    await Promise.all(this.targets.map(({ pool }) => pool.destroy()))
  }

  /**
   * The next target for a request that has tried some. During a swap the caller decides the side; where the new side has
   * no target left, the old one is asked.
   */
  choose({ method, callerId }: Sender, tried: readonly Target[]): Target | undefined {
    const { swap } = this
    if (!swap?.leads(method, callerId)) return this.#side.choose(tried)
    const target = this.#newSide?.choose(tried)
    if (target) return target
    if (tried.length === 0) swap.note(true, callerId, true, undefined)
    return this.#side.choose(tried)
  }

  /** Notes the end of an attempt for the swap; without a duration for a second attempt. */
  noteEnd(target: Target, sender: Sender, isFailure: boolean, ms: number | undefined): void {
    const { swap } = this
    if (!swap?.isMeasured(sender.method)) return
    const isNew = this.#newSide?.targets.includes(target) ?? false
    swap.note(isNew, sender.callerId, isFailure, ms)
  }
}

/** The parts of a request by which its side is chosen. */
export type Sender = Readonly<{ method: string; callerId: string }>

type HealthEvents = Pick<TargetOptions, 'changed' | 'suspected'>

type SideOptions = Readonly<{
  health: HealthSettings
  /** Makes a target that tells of its health. */
  make: (settings: TargetSettings, about: HealthEvents) => Target
  healthChanged: TargetOptions['changed']
}>

/** Targets that share requests by weight: those of an upstream, or those that a swap leads to. */
class Side {
  readonly targets: readonly Target[]
  readonly #watches: readonly HealthWatch[]

  constructor(settings: readonly TargetSettings[], { health, make, healthChanged }: SideOptions) {
    const about: HealthEvents = {
      changed: (target, cause) => {
        this.#watches.forEach((watch) => watch.schedule())
        healthChanged(target, cause)
      },
      suspected: (target, cause) => this.#watches[this.targets.indexOf(target)]?.suspect(cause),
    }
    this.targets = settings.map((target) => make(target, about))
    this.#watches = this.targets.map(
      (target) => new HealthWatch(target, health, () => this.#isLastHealthy(target)),
    )
    this.#watches.forEach((watch) => watch.schedule())
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

  /** Ends the checks. */
  stop(): void {
    this.#watches.forEach((watch) => watch.stop())
  }

  #isLastHealthy(target: Target): boolean {
    return !this.targets.some((other) => other !== target && other.isHealthy)
  }
}
