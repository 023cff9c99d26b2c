import type { Attributes, HrTime, SpanContext, SpanStatus, TraceState } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan, TimedEvent } from '@opentelemetry/sdk-trace'
import type { Span } from './span.ts'

/** OpenTelemetry's numbers, which are written here because its packages may be missing. */
const kinds = { server: 1, client: 2 } as const
const sampled = 1
const unset = 0
const failed = 2

/** The parts that all spans of a service have in common. */
export type Service = Readonly<{
  resource: Resource
  scope: Readonly<{ name: string; version: string }>
  traceState: (text: string) => TraceState
}>

/**
 * A span as OpenTelemetry's processor and exporter read it. Its members are made when a batch is written: a span of the
 * SDK's own tracer takes 1.5 µs more, and 1.6 KB in place of 0.7 while it waits.
 */
export class FinishedSpan implements ReadableSpan {
  readonly #span: Span
  readonly #zeroMs: number
  readonly #service: Service

  /** `zeroMs` is the zero of `performance` since 1970. */
  constructor(span: Span, zeroMs: number, service: Service) {
    this.#span = span
    this.#zeroMs = zeroMs
    this.#service = service
  }

  get name(): string {
    return this.#span.name
  }

  get kind(): 1 | 2 {
    return kinds[this.#span.kind]
  }

  spanContext(): SpanContext {
    const { traceId, id, state } = this.#span
    const context = { traceId, spanId: id, traceFlags: sampled }
    return state === undefined
      ? context
      : { ...context, traceState: this.#service.traceState(state) }
  }

  /** Has an empty id if there is none: so OTLP says it. */
  get parentSpanContext(): SpanContext {
    const { traceId, parentId = '', hasRemoteParent } = this.#span
    return { traceId, spanId: parentId, traceFlags: sampled, isRemote: hasRemoteParent }
  }

  get startTime(): HrTime {
    return this.#timeAt(this.#span.beganAtMs)
  }

  get endTime(): HrTime {
    return this.#timeAt(this.#span.endedAtMs)
  }

  get duration(): HrTime {
    return timeOf(this.#span.endedAtMs - this.#span.beganAtMs)
  }

  get status(): SpanStatus {
    return { code: this.#span.isError ? failed : unset }
  }

  get attributes(): Attributes {
    return this.#span.attributes
  }

  get events(): TimedEvent[] {
    const { event } = this.#span
    if (!event) return []
    const { name, atMs, attributes } = event
    return [{ name, time: this.#timeAt(atMs), attributes }]
  }

  get resource(): Resource {
    return this.#service.resource
  }

  get instrumentationScope(): Service['scope'] {
    return this.#service.scope
  }

  get links(): [] {
    return []
  }

  get ended(): true {
    return true
  }

  get droppedAttributesCount(): number {
    return 0
  }

  get droppedEventsCount(): number {
    return 0
  }

  get droppedLinksCount(): number {
    return 0
  }

  #timeAt(ms: number): HrTime {
    return timeOf(this.#zeroMs + ms)
  }
}

/** Milliseconds as seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.floor((ms % 1_000) * 1_000_000)]
}
