import { breathe } from '../../../shared/breathe.ts'
import { openSpans, type SpansOptions } from '../../../shared/spans/open.ts'
import type { SpanSink } from '../../../shared/spans/span.ts'
import type { TraceSettings } from '../config/config.ts'
import { tracerOf } from './tracer.ts'

type Entry = { readonly to: string; readonly spans: SpanSink; users: number }

/**
 * The exporters to collectors, mostly one or none. An exporter, with the spans that wait in it, survives changes of the
 * configuration that keep its address.
 */
export function exportersWith(options: Omit<SpansOptions, 'to'>) {
  const entries = new Map<string, Entry>()
  const closing = new Set<Promise<void>>()

  async function open(to: string): Promise<Entry> {
    const entry = { to, spans: await openSpans({ ...options, to }), users: 0 }
    entries.set(to, entry)
    return entry
  }

  function close({ to, spans }: Entry): void {
    entries.delete(to)
    const closed = spans.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  return {
    /**
     * The tracer of a configuration, and the function that ends its use. Throws a sentence if OpenTelemetry's packages
     * are missing.
     */
    async acquire({ to, sample }: TraceSettings, hash: string) {
      const entry = entries.get(to) ?? (await open(to))
      const hold = (): (() => void) => {
        entry.users++
        return () => {
          if (--entry.users === 0) close(entry)
        }
      }
      return { tracer: tracerOf({ spans: entry.spans, sample, hash, hold }), release: hold() }
    },

    /** Sends what waits, for a short time. The ends of requests that were cut just now are in it. */
    async close(): Promise<void> {
      await breathe()
      for (const entry of entries.values()) close(entry)
      await Promise.all(closing)
    },
  }
}
