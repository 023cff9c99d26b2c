import type { Context, HrTime } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import type { Log } from '../log.ts'
import { tellingTrouble } from '../trouble.ts'
import { optionalPackages, version } from '../version.ts'
import { within } from '../within.ts'
import type { Span, SpanCounts, SpanSink } from './span.ts'

/** A batch is sent when it has this many spans, or this long after its first one. */
const batchSize = 512
const everyMs = 5_000

/** The most spans that wait for the collector. */
const mostWaiting = 10_000

/** The time for the collector to answer. */
const timeoutMs = 5_000

/** The time for the last spans at a stop. */
const closingMs = 2_000

export type SpansOptions = Readonly<{
  /** The collector's address, to which `/v1/traces` is added. */
  to: string
  /** The setting that asks for spans, for a sentence about missing packages. */
  setting: string
  /** The name of the service, unless `OTEL_SERVICE_NAME` has another. */
  service: string
  /** The name of this process among those of the service. */
  instance: string
  counts: SpanCounts
  /** Called when the collector begins to fail, and with `undefined` when it takes spans again. */
  trouble: (error: Error | undefined) => void
  /** Other times than usual, for tests. */
  times?: Readonly<{ everyMs: number; timeoutMs: number }>
}>

/** Opens the way to a collector. OpenTelemetry's packages are loaded here, and nowhere else. */
export async function openSpans(options: SpansOptions): Promise<SpanSink> {
  const { to, counts, times = { everyMs, timeoutMs } } = options
  const { api, sdk, resources, OTLPTraceExporter } = await load(options.setting)
  const url = `${to.replace(/\/+$/, '')}/v1/traces`
  const sender = new OTLPTraceExporter({ url, timeoutMillis: times.timeoutMs })
  const exporter = counting(sender, options)
  const batches = new sdk.BatchSpanProcessor({
    exporter,
    maxQueueSize: mostWaiting,
    maxExportBatchSize: batchSize,
    scheduledDelayMillis: times.everyMs,
    exportTimeoutMillis: 2 * times.timeoutMs,
  })
  const ids = new sdk.RandomIdGenerator()
  let present: Span | undefined
  const provider = new sdk.TracerProvider({
    resource: serviceResource(resources, options),
    sampler: new sdk.AlwaysOnSampler(),
    // Each span has its ids before it is made: backends were sent them.
    idGenerator: {
      generateTraceId: () => present?.traceId ?? ids.generateTraceId(),
      generateSpanId: () => present?.id ?? ids.generateSpanId(),
    },
    spanProcessors: [batches],
  })
  const tracer = provider.getTracer('tollgate', version())
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT }
  let zeroMs = performance.timeOrigin
  const timeAt = (ms: number): HrTime => timeOf(zeroMs + ms)
  return {
    newTraceId: ids.generateTraceId,
    newSpanId: ids.generateSpanId,
    add(span: Span) {
      // The processor would drop it without a word.
      if (exporter.waiting === mostWaiting) return void counts.dropped++
      exporter.waiting++
      zeroMs = correctedZero(zeroMs)
      present = span
      const { name, attributes, event } = span
      const startTime = timeAt(span.beganAtMs)
      const settings = { kind: kinds[span.kind], startTime, attributes }
      const made = tracer.startSpan(name, settings, parentOf(api, span))
      if (event) made.addEvent(event.name, event.attributes, timeAt(event.atMs))
      if (span.isError) made.setStatus({ code: api.SpanStatusCode.ERROR })
      made.end(timeAt(span.endedAtMs))
    },
    close: () =>
      within(
        closingMs,
        provider.shutdown().catch(() => undefined),
      ),
  }
}

/** OpenTelemetry's code of a batch that the collector took. */
const success = 0

/** Counts what becomes of spans, and tells when the collector begins to fail and when it takes spans again. */
function counting(sender: SpanExporter, { counts, trouble }: SpansOptions) {
  const tell = tellingTrouble(trouble)
  return {
    /** Spans that were made and aren't on their way yet; whoever makes one adds it. */
    waiting: 0,
    export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
      this.waiting -= spans.length
      sender.export(spans, (result) => {
        const hasFailed = Number(result.code) !== success
        counts[hasFailed ? 'failed' : 'sent'] += spans.length
        tell(hasFailed ? (result.error ?? new Error('it gave no reason')) : undefined)
        done(result)
      })
    },
    shutdown: () => sender.shutdown(),
  }
}

/** The span that a span is a part of, as OpenTelemetry is told of it. */
function parentOf(api: Api, { kind, traceId, parentId, state }: Span): Context {
  if (parentId === undefined) return api.ROOT_CONTEXT
  const context = { traceId, spanId: parentId, traceFlags: api.TraceFlags.SAMPLED }
  const traceState = state === undefined ? {} : { traceState: api.createTraceState(state) }
  const parent = { ...context, ...traceState, isRemote: kind === 'server' }
  return api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
}

/** Milliseconds as seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.floor((ms % 1_000) * 1_000_000)]
}

type Api = Awaited<ReturnType<typeof load>>['api']
type Resources = Awaited<ReturnType<typeof load>>['resources']

function serviceResource(
  { defaultResource, detectResources, envDetector, resourceFromAttributes }: Resources,
  { service, instance }: SpansOptions,
): Resource {
  return (
    defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': service,
          'service.version': version(),
          'service.instance.id': instance,
        }),
      )
      // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
      .merge(detectResources({ detectors: [envDetector] }))
  )
}

/** Tells of a collector that begins to fail, and when it is back. */
export function collectorTrouble(log: Log): SpansOptions['trouble'] {
  return (err) =>
    err
      ? log.error({ err }, 'the collector takes no spans; requests aren’t held up')
      : log.info({}, 'the collector takes spans again')
}

/**
 * The zero of `performance` by the system's clock, which may be set or drift meanwhile. A difference below 2 ms stays, so
 * that spans of one process keep their order to the microsecond.
 */
function correctedZero(zeroMs: number): number {
  const offMs = Date.now() - (zeroMs + performance.now())
  return Math.abs(offMs) < 2 ? zeroMs : zeroMs + offMs
}

async function load(setting: string) {
  try {
    const [api, sdk, resources, { OTLPTraceExporter }] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
    return { api, sdk, resources, OTLPTraceExporter }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) {
      throw error
    }
    const install = optionalPackages().join(' ')
    throw new Error(
      `${setting} asks for spans, and OpenTelemetry’s packages aren’t installed: npm install ${install}, or leave ${setting} empty`,
      { cause: error },
    )
  }
}
