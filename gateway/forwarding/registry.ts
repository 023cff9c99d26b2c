import type { UpstreamSettings } from '../config/config.ts'
import type { Meters } from '../records/meters.ts'
import { Upstream, type UpstreamLog } from './upstream.ts'

type Held = { upstream: Upstream; holders: number }

/**
 * The upstreams that are in use. One whose settings stay as they are outlives a change of the
 * configuration, with its connections and with what is known of its health.
 */
export class Upstreams {
  readonly #log: UpstreamLog
  readonly #meters: Meters
  readonly #held = new Map<string, Held>()
  readonly #ending = new Map<Upstream, Promise<void>>()

  constructor(log: UpstreamLog, meters: Meters) {
    this.#log = log
    this.#meters = meters
  }

  /** The upstream of some settings; whoever takes it gives it back. */
  take(settings: UpstreamSettings): Upstream {
    const name = JSON.stringify(settings)
    const held = this.#held.get(name) ?? {
      upstream: new Upstream(settings, this.#log, this.#meters),
      holders: 0,
    }
    held.holders++
    this.#held.set(name, held)
    return held.upstream
  }

  /** The upstream of some settings, if it is open, for a look at it. */
  see(settings: UpstreamSettings): Upstream | undefined {
    return this.#held.get(JSON.stringify(settings))?.upstream
  }

  /** An upstream that nobody uses any more is closed when the last of its requests is done. */
  giveBack({ settings }: Upstream): void {
    const name = JSON.stringify(settings)
    const held = this.#held.get(name)
    if (!held || --held.holders > 0) return
    this.#held.delete(name)
    void this.#end(held.upstream)
  }

  /** Ends all WebSockets. */
  cutTunnels(): void {
    for (const { upstream } of this.#held.values()) upstream.cutTunnels()
  }

  /** Ends all there are, with what would never end by itself. */
  async close(): Promise<void> {
    for (const { upstream } of this.#held.values()) void this.#end(upstream)
    this.#held.clear()
    this.#ending.forEach((_closed, upstream) => upstream.cutTunnels())
    await Promise.all(this.#ending.values())
  }

  #end(upstream: Upstream): Promise<void> {
    const closed = upstream.close().finally(() => this.#ending.delete(upstream))
    this.#ending.set(upstream, closed)
    return closed
  }
}
