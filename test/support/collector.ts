import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

type Value = Readonly<{ stringValue?: string; intValue?: string; doubleValue?: number }>
type Attribute = Readonly<{ key: string; value: Value }>
type Sent = Readonly<{
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: readonly Attribute[]
  events?: readonly Readonly<{ name: string; timeUnixNano: string; attributes: Attribute[] }>[]
  status?: Readonly<{ code: number }>
}>
type Batch = Readonly<{
  resourceSpans: readonly Readonly<{
    resource: Readonly<{ attributes: readonly Attribute[] }>
    scopeSpans: readonly Readonly<{ spans: readonly Sent[] }>[]
  }>[]
}>

/** A span as a collector has got it, with its resource. */
export type SeenSpan = Readonly<{
  traceId: string
  id: string
  parent: string | undefined
  state: string | undefined
  name: string
  kind: 'server' | 'client'
  /** Nanoseconds since 1970. */
  began: bigint
  ended: bigint
  attributes: Readonly<Record<string, unknown>>
  events: readonly Readonly<{ name: string; at: bigint; attributes: Record<string, unknown> }>[]
  isError: boolean
  resource: Readonly<Record<string, unknown>>
}>

export type Collector = Readonly<{
  url: string
  spans: SeenSpan[]
  /** The bodies as they came. */
  bodies: string[]
  /** Requests so far. */
  count: () => number
  /** Answers from now on, in place of 200. */
  answer: (how: (response: ServerResponse) => void) => void
}>

/** A collector: a server that reads OTLP in JSON at `/v1/traces`. */
export async function startCollector(t: Test): Promise<Collector> {
  const spans: SeenSpan[] = []
  const bodies: string[] = []
  let count = 0
  let how = (response: ServerResponse): void => {
    response.setHeader('content-type', 'application/json').end('{}')
  }
  const server = createServer((request, response) => {
    count++
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      if (request.url !== '/v1/traces' || request.method !== 'POST') {
        response.writeHead(404).end()
        return
      }
      bodies.push(body)
      spans.push(...spansIn(JSON.parse(body) as Batch))
      how(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, spans, bodies, count: () => count, answer: (other) => (how = other) }
}

function spansIn({ resourceSpans }: Batch): SeenSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span): SeenSpan => ({
        traceId: span.traceId,
        id: span.spanId,
        parent: span.parentSpanId,
        state: span.traceState,
        name: span.name,
        kind: span.kind === 2 ? 'server' : 'client',
        began: BigInt(span.startTimeUnixNano),
        ended: BigInt(span.endTimeUnixNano),
        attributes: valuesOf(span.attributes),
        events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => {
          return { name, at: BigInt(timeUnixNano), attributes: valuesOf(attributes) }
        }),
        isError: span.status?.code === 2,
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue } }) => {
      // An int64 is a text in the JSON of protobuf.
      return [key, stringValue ?? (intValue === undefined ? doubleValue : Number(intValue))]
    }),
  )
}
