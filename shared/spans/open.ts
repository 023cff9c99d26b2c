import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../log.ts'
import { optionalPackages, version } from '../version.ts'
import { within } from '../within.ts'
import { requestFrame, spanJson } from './json.ts'
import type { Span, SpanCounts, SpanSink } from './span.ts'
import { WaitingSpans } from './waiting.ts'

/** A batch is sent when it has this many spans, or this long after its first one. */
const batchSize = 512
const everyMs = 5_000

/** The time for the collector to answer. */
const timeoutMs = 5_000

/** OpenTelemetry's code of a batch that the collector took. */
const success = 0

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
  const { to, setting, service, instance, counts, trouble } = options
  const { times = { everyMs, timeoutMs } } = options
  const [{ BatchSpanProcessor, RandomIdGenerator }, { OTLPExporterBase }, http, resources] =
    await load(setting)
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = resources
  const resource = defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': service,
        'service.version': version(),
        'service.instance.id': instance,
      }),
    )
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
    .merge(detectResources({ detectors: [envDetector] }))
  const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = http
  const url = `${to.replace(/\/+$/, '')}/v1/traces`
  const settings = { url, timeoutMillis: times.timeoutMs }
  const [head, tail] = requestFrame(resource.attributes, version())
  const waiting = new WaitingSpans(blankSpan(resource))
  const exporter = new OTLPExporterBase<ReadableSpan[]>(
    createOtlpHttpExportDelegate(
      convertLegacyHttpOptions(settings, 'TRACES', 'v1/traces', {
        'content-type': 'application/json',
      }),
      {
        serializeRequest: (spans: ReadableSpan[]) =>
          Buffer.concat([head, ...waiting.texts(spans), tail]),
        deserializeResponse: () => undefined,
      },
      'otlp_http_json_span_exporter',
      { name: 'span', countItems: (spans) => spans.length },
      undefined,
    ),
  )
  const counting = new CountingExporter(exporter, waiting, counts, trouble)
  const batches = new BatchSpanProcessor(counting, {
    maxQueueSize: Infinity,
    maxExportBatchSize: batchSize,
    scheduledDelayMillis: times.everyMs,
    exportTimeoutMillis: 2 * times.timeoutMs,
  })
  const ids = new RandomIdGenerator()
  let zeroMs = performance.timeOrigin
  return {
    newTraceId: ids.generateTraceId,
    newSpanId: ids.generateSpanId,
    add(span: Span) {
      zeroMs = correctedZero(zeroMs)
      const written = waiting.isFull ? undefined : waiting.add(spanJson(span, zeroMs))
      if (written) batches.onEnd(written)
      else counts.dropped++
    },
    close: () =>
      within(
        closingMs,
        batches.shutdown().catch(() => undefined),
      ),
  }
}

/** A span without its text. The processor of batches asks its context and its resource, and nobody the rest. */
function blankSpan(resource: ReadableSpan['resource']): ReadableSpan {
  const context = { traceId: '', spanId: '', traceFlags: 1 }
  return {
    name: '',
    kind: 0,
    spanContext: () => context,
    resource,
    attributes: {},
    startTime: [0, 0],
    endTime: [0, 0],
    duration: [0, 0],
    ended: true,
    status: { code: 0 },
    links: [],
    events: [],
    instrumentationScope: { name: 'tollgate' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Tells of a collector that begins to fail, and when it is back. */
export function collectorTrouble(log: Log): SpansOptions['trouble'] {
  return (err) =>
    err
      ? log.error({ err }, 'the collector takes no spans; requests aren’t held up')
      : log.info({}, 'the collector takes spans again')
}

/** Counts what becomes of the spans that wait. */
class CountingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #waiting: WaitingSpans
  readonly #counts: SpanCounts
  readonly #trouble: SpansOptions['trouble']
  #isFailing = false

  constructor(
    exporter: SpanExporter,
    waiting: WaitingSpans,
    counts: SpanCounts,
    trouble: SpansOptions['trouble'],
  ) {
    this.#exporter = exporter
    this.#waiting = waiting
    this.#counts = counts
    this.#trouble = trouble
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.#exporter.export(spans, (result) => {
      const hasFailed = Number(result.code) !== success
      this.#counts[hasFailed ? 'failed' : 'sent'] += spans.length
      if (hasFailed !== this.#isFailing) {
        this.#isFailing = hasFailed
        this.#trouble(hasFailed ? (result.error ?? new Error('it gave no reason')) : undefined)
      }
      done(result)
    })
    // The request is written: the exporter does that before it waits for anything.
    this.#waiting.remove(spans)
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
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
    return await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/otlp-exporter-base'),
      import('@opentelemetry/otlp-exporter-base/node-http'),
      import('@opentelemetry/resources'),
    ])
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
