import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import type { SpanCounts } from './span.ts'

/** OpenTelemetry's code of a batch that the collector took. */
const success = 0

/** Counts what becomes of spans, and tells when the collector begins to fail and when it takes spans again. */
export class CountingExporter implements SpanExporter {
  /** Spans that were made and aren't on their way yet; whoever makes one adds it. */
  waiting = 0
  readonly #exporter: SpanExporter
  readonly #counts: SpanCounts
  readonly #trouble: (error: Error | undefined) => void
  #isFailing = false

  constructor(
    exporter: SpanExporter,
    counts: SpanCounts,
    trouble: (error: Error | undefined) => void,
  ) {
    this.#exporter = exporter
    this.#counts = counts
    this.#trouble = trouble
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.waiting -= spans.length
    this.#exporter.export(spans, (result) => {
      const hasFailed = Number(result.code) !== success
      this.#counts[hasFailed ? 'failed' : 'sent'] += spans.length
      if (hasFailed !== this.#isFailing) {
        this.#isFailing = hasFailed
        this.#trouble(hasFailed ? (result.error ?? new Error('it gave no reason')) : undefined)
      }
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
