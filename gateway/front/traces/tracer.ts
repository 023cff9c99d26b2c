import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SpanSink } from '../../../shared/spans/span.ts'
import { traceParentFrom, traceStateFrom } from '../../../shared/trace.ts'
import type { RequestRecord } from '../request-record.ts'
import { clientSpans, serverSpan } from './spans-of.ts'
import { Trace } from '../request-trace.ts'

export type TracerOptions = Readonly<{
  spans: SpanSink
  /** The share of requests without a `traceparent` that are traced. */
  sample: number
  /** The hash of the configuration. */
  hash: string
  /** Keeps `spans` open for longer than the configuration; the returned function ends that. */
  hold: () => () => void
}>

/** Traces the requests of one configuration: each that its caller traces, and a share of those without a `traceparent`. */
export class Tracer {
  readonly #spans: SpanSink
  readonly #sample: number
  readonly #hash: string
  readonly #hold: TracerOptions['hold']
  readonly #newSpanId = (): string => this.#spans.newSpanId()

  constructor({ spans, sample, hash, hold }: TracerOptions) {
    this.#spans = spans
    this.#sample = sample
    this.#hash = hash
    this.#hold = hold
  }

  /** The trace of a request that begins; `undefined` if it isn't sampled. */
  begin({ headers }: FastifyRequest): Trace | undefined {
    const header = headers['traceparent']
    const parent = header === undefined ? undefined : traceParentFrom(header)
    if (parent ? !parent.isSampled : Math.random() >= this.#sample) return undefined
    return new Trace({
      traceId: parent?.traceId ?? this.#spans.newTraceId(),
      parentId: parent?.spanId,
      state: parent && traceStateFrom(headers['tracestate']),
      serverId: this.#spans.newSpanId(),
      newSpanId: this.#newSpanId,
    })
  }

  /** Makes the spans of a request whose answer has ended. Those of a WebSocket are made when it ends. */
  end(request: FastifyRequest, reply: FastifyReply, record: RequestRecord, trace: Trace): void {
    const { tunnel } = trace
    if (!tunnel || tunnel.destroyed) return this.#add(request, reply, record, trace)
    const letGo = this.#hold()
    tunnel.once('close', () => {
      this.#add(request, reply, record, trace)
      letGo()
    })
  }

  #add(request: FastifyRequest, reply: FastifyReply, record: RequestRecord, trace: Trace): void {
    const ended = { request, reply, record, trace, hash: this.#hash, endedAtMs: performance.now() }
    this.#spans.add(serverSpan(ended))
    for (const span of clientSpans(ended)) this.#spans.add(span)
  }
}
