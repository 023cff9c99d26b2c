import type { Attributes, HrTime, SpanContext, TraceState } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Span } from './span.ts'

/** What the spans of one exporter have in common. */
export type Origin = Readonly<{
  resource: Resource
  instrumentationScope: ReadableSpan['instrumentationScope']
  stateFrom: (text: string) => TraceState
}>

const kinds = { server: 1, client: 2 } as const
const sampled = 1
const unset = { code: 0 }
const error = { code: 2 }
const none: never[] = []

/**
 * A span in the form that OpenTelemetry's packages export. It is kept small, and computes everything else when it is read:
 * it waits for seconds, so that a full collection moves it.
 */
export class ExportedSpan implements ReadableSpan {
  readonly #span: Span
  readonly #origin: Origin
  /** The milliseconds from 1970 to the zero of `performance`. */
  readonly #zeroMs: number

  constructor(span: Span, origin: Origin, zeroMs: number) {
    this.#span = span
    this.#origin = origin
    this.#zeroMs = zeroMs
  }

  get name(): string {
    return this.#span.name
  }

  get kind() {
    return kinds[this.#span.kind]
  }

  spanContext(): SpanContext {
    const { traceId, id, state } = this.#span
    const own = { traceId, spanId: id, traceFlags: sampled }
    return state === undefined ? own : { ...own, traceState: this.#origin.stateFrom(state) }
  }

  get parentSpanContext(): SpanContext {
    const { traceId, parentId = '', hasRemoteParent } = this.#span
    return { traceId, spanId: parentId, traceFlags: sampled, isRemote: hasRemoteParent }
  }

  get startTime(): HrTime {
    return this.#time(this.#span.beganAtMs)
  }

  get endTime(): HrTime {
    return this.#time(this.#span.endedAtMs)
  }

  get duration(): HrTime {
    return hrTime(this.#span.endedAtMs - this.#span.beganAtMs)
  }

  get attributes(): Attributes {
    return this.#span.attributes
  }

  get events(): ReadableSpan['events'] {
    const { event } = this.#span
    return event ? [{ ...event, time: this.#time(event.atMs), droppedAttributesCount: 0 }] : none
  }

  get status(): ReadableSpan['status'] {
    return this.#span.isError ? error : unset
  }

  get resource(): Resource {
    return this.#origin.resource
  }

  get instrumentationScope(): ReadableSpan['instrumentationScope'] {
    return this.#origin.instrumentationScope
  }

  readonly links = none
  readonly ended = true
  readonly droppedAttributesCount = 0
  readonly droppedEventsCount = 0
  readonly droppedLinksCount = 0

  #time(performanceMs: number): HrTime {
    return hrTime(this.#zeroMs + performanceMs)
  }
}

/** Milliseconds as OpenTelemetry's seconds and nanoseconds. */
function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1_000)
  return [seconds, Math.floor((milliseconds - seconds * 1_000) * 1_000_000)]
}
