import type { Duplex } from 'node:stream'
import { lingerMs } from '../../shared/linger.ts'
import type { UpstreamSettings } from '../config/config.ts'
import { Exchange, type Failure, type Outgoing, type Receiver } from './exchange.ts'
import { HealthWatch } from './health.ts'
import { Target } from './target.ts'

/** What upstreams tell of themselves; one line each time, not one a request. */
export type UpstreamLog = Readonly<{
  out: (upstream: string, target: string, cause: Error | undefined) => void
  back: (upstream: string, target: string) => void
}>

/** Whoever wants to know what becomes of a request; `failed` also if nobody is asked. */
export type Waiter = Receiver & Readonly<{ failed: (failure: Failure | Refused) => void }>

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
  #open = 0
  #isCut = false
  #idle: (() => void) | undefined

  constructor(settings: UpstreamSettings, log: UpstreamLog) {
    this.settings = settings
    const { name, timeouts, health } = settings
    const changed = (target: Target, cause?: Error): void => {
      this.#watches.forEach((watch) => watch.plan())
      if (target.isHealthy) log.back(name, target.origin)
      else log.out(name, target.origin, cause)
    }
    this.targets = settings.targets.map(
      (target) => new Target({ settings: target, timeouts, health, caFile: settings.ca, changed }),
    )
    this.#watches = this.targets.map((target) => new HealthWatch(target, health))
    this.#watches.forEach((watch) => watch.plan())
  }

  /**
   * Sends a request to the target whose turn it is. If that can't be connected to, and asking again
   * can do no harm, the next one is tried, within the time that one answer may take.
   */
  send(outgoing: Outgoing, waiter: Waiter): Sent {
    const { timeouts, maxInFlight } = this.settings
    if (this.#open >= maxInFlight) {
      waiter.failed('overloaded')
      return { cancel: () => undefined }
    }
    const tried: Target[] = []
    const mayRetry = !outgoing.body && idempotent.has(outgoing.method)
    const endMs = mayRetry ? performance.now() + timeouts.responseMs : 0
    let exchange: Exchange | undefined

    const attempt = (failure: Failure | Refused): void => {
      const target = this.#choose(tried)
      if (!target) return waiter.failed(failure)
      tried.push(target)
      this.#open++
      exchange = new Exchange({
        target,
        outgoing,
        // Another try has the time that is left.
        timeouts:
          tried.length > 1 ? { ...timeouts, responseMs: endMs - performance.now() } : timeouts,
        receiver: {
          answered: waiter.answered,
          upgraded: waiter.upgraded,
          failed: (failure) => {
            const again = mayRetry && failure.isUnsent && performance.now() < endMs
            if (again) attempt(failure)
            else waiter.failed(failure)
          },
        },
        ended: this.#ended,
      })
      exchange.begin()
    }

    attempt('none healthy')
    return { cancel: () => exchange?.cancel() }
  }

  /**
   * Takes the two ends of a connection that becomes something else than HTTP: when one ends, so does the
   * other. What it gives back lets them flow into each other.
   */
  join(caller: Duplex, backend: Duplex): () => void {
    this.#open++
    const link = (end: Duplex, other: Duplex): void => {
      this.#tunnels.add(end)
      end.on('error', () => other.destroy())
      end.once('end', () => void setTimeout(() => other.destroy(), lingerMs).unref())
      end.once('close', () => {
        other.destroy()
        this.#tunnels.delete(end)
        if (end === caller) this.#ended()
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
    if (this.#open > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    await Promise.all(this.targets.map(({ pool }) => pool.destroy()))
  }

  /** Whose turn it is: each target gains its weight a round, and the one who has most pays for all. */
  #choose(tried: readonly Target[]): Target | undefined {
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

  readonly #ended = (): void => {
    if (--this.#open === 0) this.#idle?.()
  }
}
