import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SpanSink } from '../../../shared/spans/span.ts'
import { traceParentFrom, traceStateFrom } from '../../../shared/trace.ts'
import type { RequestRecord } from '../request-record.ts'
import { clientSpans, serverSpan } from './spans-of.ts'
import { Trace } from '../request-trace.ts'

type TracerOptions = Readonly<{
  spans: SpanSink
  /** The share of requests without a `traceparent` that are traced. */
  sample: number
  /** The hash of the configuration. */
  hash: string
  /** Keeps `spans` open for longer than the configuration; the returned function ends that. */
  hold: () => () => void
}>

/** Traces the requests of one configuration: each that its caller traces, and a share of those without a `traceparent`. */
export type Tracer = ReturnType<typeof tracerOf>

export function tracerOf({ spans, sample, hash, hold }: TracerOptions) {
  const newSpanId = (): string => spans.newSpanId()

  function add(
    request: FastifyRequest,
    reply: FastifyReply,
    record: RequestRecord,
    trace: Trace,
  ): void {
    const ended = { request, reply, record, trace, hash, endedAtMs: performance.now() }
    spans.add(serverSpan(ended))
    for (const span of clientSpans(ended)) spans.add(span)
  }

  return {
    /** The trace of a request that begins; `undefined` if it isn't sampled. */
    begin({ headers }: FastifyRequest): Trace | undefined {
      const header = headers['traceparent']
      const parent = header === undefined ? undefined : traceParentFrom(header)
      if (parent ? !parent.isSampled : Math.random() >= sample) return undefined
      return new Trace({
        traceId: parent?.traceId ?? spans.newTraceId(),
        parentId: parent?.spanId,
        state: parent && traceStateFrom(headers['tracestate']),
        serverId: spans.newSpanId(),
        newSpanId,
      })
    },

    /** Makes the spans of a request whose answer has ended. Those of a WebSocket are made when it ends. */
    end(...ended: Parameters<typeof add>): void {
      const { tunnel } = ended[3]
      if (!tunnel || tunnel.destroyed) return add(...ended)
      const letGo = hold()
      tunnel.once('close', () => {
        add(...ended)
        letGo()
      })
    },
  }
}
