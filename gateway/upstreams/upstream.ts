import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { lingerMs } from '../../shared/linger.ts'
import type { UpstreamSettings } from '../config/config.ts'
import type { Meters } from '../records/meters.ts'
import { UnderWay } from '../under-way.ts'
import { Exchange, type Answer, type Failure, type Outgoing, type Receiver } from './exchange.ts'
import { FairShare } from './fair-share.ts'
import { HealthWatch } from './health.ts'
import { Target } from './target.ts'

/** What upstreams tell of themselves; one line each time, not one a request. */
export type UpstreamLog = Readonly<{
  out: (upstream: string, target: string, cause: Error | undefined) => void
  back: (upstream: string, target: string) => void
}>

/** Whoever wants to know what becomes of a request; `failed` also if nobody is asked. */
export type Waiter = Omit<Receiver, 'failed' | 'ended'> &
  Readonly<{ failed: (failure: Failure | Refused) => void }>

/** Why a request is not sent at all. */
export type Refused = 'none healthy' | 'overloaded'

/** A request on its way; `cancel` when nobody waits for it any more. */
export type Sent = { cancel(): void }

/** Methods that may be asked twice if it isn't known whether they have been asked once. */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** A backend by its name: one or more targets that share its requests by their weights. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly targets: readonly Target[]
  readonly #watches: readonly HealthWatch[]
  readonly #tunnels = new Set<Duplex>()
  /** Its tries of requests, and what has become of connections. */
  readonly underWay = new UnderWay()
  /** How its callers share it, unless they don't. */
  readonly share: FairShare | undefined
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
    this.#watches = this.targets.map(
      (target) => new HealthWatch(target, health, () => this.#isLastHealthy(target)),
    )
    this.#watches.forEach((watch) => watch.plan())
  }

  /**
   * Sends a request to the target whose turn it is. If that can't be connected to, and asking again
   * can do no harm, the next one is tried, within the time that one answer may take.
   */
  send(outgoing: Outgoing, waiter: Waiter): Sent | undefined {
    if (this.underWay.count >= this.settings.maxInFlight) {
      waiter.failed('overloaded')
      return undefined
    }
    const sending = new Sending(this, outgoing, waiter)
    sending.attempt('none healthy')
    return sending
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

  /** Ends what would never end by itself, and what is still to become so. */
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

  /** Whose turn it is: each target gains its weight a round, and the one who has most pays for all. */
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

const none: readonly Target[] = []

/** A request with its tries, of which there is mostly one. */
class Sending implements Receiver, Sent {
  readonly #upstream: Upstream
  readonly #outgoing: Outgoing
  readonly #waiter: Waiter
  #tried = none
  #exchange: Exchange | undefined

  constructor(upstream: Upstream, outgoing: Outgoing, waiter: Waiter) {
    this.#upstream = upstream
    this.#outgoing = outgoing
    this.#waiter = waiter
  }

  /** Asks a target that was not asked yet; if there is none, that is the failure that stays. */
  attempt(failure: Failure | Refused): void {
    const upstream = this.#upstream
    const { timeouts } = upstream.settings
    const target = upstream.choose(this.#tried)
    if (!target) return this.#waiter.failed(failure)
    const isFirst = this.#tried.length === 0
    this.#tried = isFirst ? target.alone : [...this.#tried, target]
    upstream.underWay.began()
    // Another try has the time that is left.
    const times = isFirst ? timeouts : { ...timeouts, responseMs: this.#leftMs() }
    this.#exchange = new Exchange(target, this.#outgoing, times, this)
    this.#exchange.begin()
  }

  cancel(): void {
    this.#exchange?.cancel()
  }

  answered(answer: Answer): void {
    this.#waiter.answered(answer)
  }

  upgraded(headers: IncomingHttpHeaders, socket: Duplex, target: Target): void {
    this.#waiter.upgraded(headers, socket, target)
  }

  failed(failure: Failure): void {
    const { method, body } = this.#outgoing
    const mayRetry = failure.isUnsent && !body && idempotent.has(method) && this.#leftMs() > 0
    if (mayRetry) this.attempt(failure)
    else this.#waiter.failed(failure)
  }

  ended(): void {
    this.#upstream.underWay.ended()
  }

  #leftMs(): number {
    return this.#outgoing.sentAtMs + this.#upstream.settings.timeouts.responseMs - performance.now()
  }
}
