import type { Resource } from '@opentelemetry/resources'
import type { Log } from '../log.ts'
import { optionalPackages, version } from '../version.ts'
import { within } from '../within.ts'
import { CountingExporter } from './counting-exporter.ts'
import { FinishedSpan, type Service } from './finished-span.ts'
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
  const { to, counts, trouble, times = { everyMs, timeoutMs } } = options
  const { api, sdk, resources, OTLPTraceExporter } = await load(options.setting)
  const url = `${to.replace(/\/+$/, '')}/v1/traces`
  const exporter = new CountingExporter(
    new OTLPTraceExporter({ url, timeoutMillis: times.timeoutMs }),
    counts,
    trouble,
  )
  const batches = new sdk.BatchSpanProcessor({
    exporter,
    maxQueueSize: mostWaiting,
    maxExportBatchSize: batchSize,
    scheduledDelayMillis: times.everyMs,
    exportTimeoutMillis: 2 * times.timeoutMs,
  })
  const ids = new sdk.RandomIdGenerator()
  const service: Service = {
    resource: serviceResource(resources, options),
    scope: { name: 'tollgate', version: version() },
    traceState: api.createTraceState,
  }
  let zeroMs = performance.timeOrigin
  return {
    newTraceId: ids.generateTraceId,
    newSpanId: ids.generateSpanId,
    add(span: Span) {
      // The processor would drop it without a word.
      if (exporter.waiting === mostWaiting) return void counts.dropped++
      exporter.waiting++
      zeroMs = correctedZero(zeroMs)
      batches.onEnd(new FinishedSpan(span, zeroMs, service))
    },
    close: () =>
      within(
        closingMs,
        batches.shutdown().catch(() => undefined),
      ),
  }
}

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
