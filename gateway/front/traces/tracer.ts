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
  readonly #options: TracerOptions
  readonly #newSpanId = (): string => this.#options.spans.newSpanId()

  constructor(options: TracerOptions) {
    this.#options = options
  }

  /** The trace of a request that begins; `undefined` if it isn't sampled. */
  begin({ headers }: FastifyRequest): Trace | undefined {
    const { spans, sample } = this.#options
    const header = headers['traceparent']
    const parent = header === undefined ? undefined : traceParentFrom(header)
    if (parent ? !parent.isSampled : Math.random() >= sample) return undefined
    return new Trace({
      traceId: parent?.traceId ?? spans.newTraceId(),
      parentId: parent?.spanId,
      state: parent && traceStateFrom(headers['tracestate']),
      serverId: spans.newSpanId(),
      newSpanId: this.#newSpanId,
    })
  }

  /** Makes the spans of a request whose answer has ended. Those of a WebSocket are made when it ends. */
  end(request: FastifyRequest, reply: FastifyReply, record: RequestRecord, trace: Trace): void {
    const { tunnel } = trace
    if (!tunnel || tunnel.destroyed) return this.#add(request, reply, record, trace)
    const letGo = this.#options.hold()
    tunnel.once('close', () => {
      this.#add(request, reply, record, trace)
      letGo()
    })
  }

  #add(request: FastifyRequest, reply: FastifyReply, record: RequestRecord, trace: Trace): void {
    const { spans, hash } = this.#options
    const ended = { request, reply, record, trace, hash, endedAtMs: performance.now() }
    spans.add(serverSpan(ended))
    for (const span of clientSpans(ended)) spans.add(span)
  }
}
