import type { FastifyInstance } from 'fastify'
import { pathOf, statusOf } from '../shared/service.ts'
import { peerOf, serverAttributes, serverSpanName } from '../shared/spans/http.ts'
import type { SpanSink } from '../shared/spans/span.ts'
import { traceParentFrom, traceStateFrom } from '../shared/trace.ts'

/** Makes a span of each request that its sender traces. Whether to begin a trace is the gateway's decision. */
export function traceRequests(app: FastifyInstance, spans: SpanSink): void {
  app.addHook('onRequest', (request, reply, done) => {
    const parent = traceParentFrom(request.headers['traceparent'])
    if (!parent?.isSampled) return done()
    const state = traceStateFrom(request.headers['tracestate'])
    const beganAtMs = performance.now()
    reply.raw.on('close', () => {
      const { method, protocol: scheme, routeOptions, raw } = request
      const status = statusOf(reply)
      const answered = { method, path: pathOf(request), scheme, route: routeOptions.url, status }
      const exchange = { ...answered, ...peerOf(raw) }
      spans.add({
        name: serverSpanName(exchange),
        kind: 'server',
        traceId: parent.traceId,
        id: spans.newSpanId(),
        parentId: parent.spanId,
        hasRemoteParent: true,
        state,
        beganAtMs,
        endedAtMs: performance.now(),
        attributes: serverAttributes(exchange),
        event: undefined,
        isError: status >= 500,
      })
    })
    done()
  })
}
