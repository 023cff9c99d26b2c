import { breathe } from '../../../shared/breathe.ts'
import { openSpans, type SpansOptions } from '../../../shared/spans/open.ts'
import type { SpanSink } from '../../../shared/spans/span.ts'
import type { TraceSettings } from '../config/config.ts'
import { tracerOf, type Tracer } from './tracer.ts'

type Entry = { readonly to: string; readonly spans: SpanSink; users: number }

/**
 * The exporters to collectors, mostly one or none. An exporter, with the spans that wait in it, survives changes of the
 * configuration that keep its address.
 */
export class Exporters {
  readonly #options: Omit<SpansOptions, 'to'>
  readonly #open = new Map<string, Entry>()
  readonly #closing = new Set<Promise<void>>()

  constructor(options: Omit<SpansOptions, 'to'>) {
    this.#options = options
  }

  /**
   * The tracer of a configuration, and the function that ends its use. Throws a sentence if OpenTelemetry's packages
   * are missing.
   */
  async acquire(
    { to, sample }: TraceSettings,
    hash: string,
  ): Promise<{ tracer: Tracer; release: () => void }> {
    const entry = this.#open.get(to) ?? (await this.#opened(to))
    const hold = (): (() => void) => {
      entry.users++
      return () => this.#release(entry)
    }
    return { tracer: tracerOf({ spans: entry.spans, sample, hash, hold }), release: hold() }
  }

  async #opened(to: string): Promise<Entry> {
    const entry = { to, spans: await openSpans({ ...this.#options, to }), users: 0 }
    this.#open.set(to, entry)
    return entry
  }

  #release(entry: Entry): void {
    if (--entry.users === 0) this.#close(entry)
  }

  #close({ to, spans }: Entry): void {
    this.#open.delete(to)
    const closed = spans.close().finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  /** Sends what waits, for a short time. The ends of requests that were cut just now are in it. */
  async close(): Promise<void> {
    await breathe()
    for (const entry of this.#open.values()) this.#close(entry)
    await Promise.all(this.#closing)
  }
}
