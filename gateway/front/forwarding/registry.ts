import type { UpstreamSettings } from '../config/config.ts'
import type { Swaps } from '../swaps/swaps.ts'
import { Upstream, type SharedOptions } from './upstream.ts'

export type UpstreamsOptions = SharedOptions & Readonly<{ swaps: Swaps }>

type Entry = { upstream: Upstream; users: number }

/**
 * The upstreams in use. An upstream whose settings don't change survives a change of the configuration, with
 * its connections and its health.
 */
export class Upstreams {
  readonly #options: UpstreamsOptions
  readonly #open = new Map<string, Entry>()
  readonly #ending = new Map<Upstream, Promise<void>>()

  constructor(options: UpstreamsOptions) {
    this.#options = options
  }

  /** Opens the upstream of some settings, or shares the open one. Each call needs a `release`. */
  acquire(settings: UpstreamSettings): Upstream {
    const name = JSON.stringify(settings)
    const entry = this.#open.get(name) ?? { upstream: this.#opened(settings), users: 0 }
    entry.users++
    this.#open.set(name, entry)
    return entry.upstream
  }

  #opened(settings: UpstreamSettings): Upstream {
    const { swaps, ...options } = this.#options
    const swap = swaps.acquire(settings)
    try {
      return new Upstream({ ...options, settings, swap })
    } catch (error) {
      if (swap) swaps.release(swap)
      throw error
    }
  }

  /** The open upstream of some settings, to read its state; `undefined` if it isn't open. */
  see(settings: UpstreamSettings): Upstream | undefined {
    return this.#open.get(JSON.stringify(settings))?.upstream
  }

  /** All open upstreams. While a configuration changes, two may have the same name. */
  get all(): readonly Upstream[] {
    return [...this.#open.values()].map(({ upstream }) => upstream)
  }

  /** Closes an upstream after its last user, when its last request is done. */
  release({ settings }: Upstream): void {
    const name = JSON.stringify(settings)
    const entry = this.#open.get(name)
    if (!entry || --entry.users > 0) return
    this.#open.delete(name)
    void this.#end(entry.upstream)
  }

  /** Ends all WebSockets. */
  cutTunnels(): void {
    for (const { upstream } of this.#open.values()) upstream.cutTunnels()
  }

  /** Closes all upstreams, and cuts their WebSockets. */
  async close(): Promise<void> {
    for (const { upstream } of this.#open.values()) void this.#end(upstream)
    this.#open.clear()
    this.#ending.forEach((_closed, upstream) => upstream.cutTunnels())
    await Promise.all(this.#ending.values())
  }

  #end(upstream: Upstream): Promise<void> {
    if (upstream.swap) this.#options.swaps.release(upstream.swap)
    const closed = upstream.close().finally(() => this.#ending.delete(upstream))
    this.#ending.set(upstream, closed)
    return closed
  }
}
