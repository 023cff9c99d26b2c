export type SpanAttributes = Record<string, string | number>

/** A finished span, with times by the clock of `performance`. */
export type Span = Readonly<{
  name: string
  kind: 'server' | 'client'
  traceId: string
  id: string
  /** The span that it is a part of, which is another process's for a server's span; `undefined` for the first one of a trace. */
  parentId: string | undefined
  /** The `tracestate` that came with the request. */
  state: string | undefined
  beganAtMs: number
  endedAtMs: number
  attributes: SpanAttributes
  event?: SpanEvent | undefined
  isError: boolean
}>

/** Something that happened at one time of a span. */
export type SpanEvent = Readonly<{ name: string; atMs: number; attributes: SpanAttributes }>

/** Numbers of spans, by what became of them. */
export type SpanCounts = { sent: number; failed: number; dropped: number }

/** Takes finished spans and sends them to a collector. */
export interface SpanSink {
  newTraceId(): string
  newSpanId(): string
  /** Takes a span. It never waits and never throws; a span that finds no room is counted and dropped. */
  add(span: Span): void
  /** Sends the spans that wait, for two seconds at most. Later ones are ignored. */
  close(): Promise<void>
}
