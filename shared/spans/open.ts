import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../log.ts'
import { optionalPackages, version } from '../version.ts'
import { within } from '../within.ts'
import { requestFrame, spanJson } from './json.ts'
import { listed, Pages, type Place } from './pages.ts'
import type { Span, SpanCounts, SpanSink } from './span.ts'

/** The most spans that wait for the collector; more are dropped. */
const mostWaiting = 10_000

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
  const exporter = new OTLPExporterBase<ReadableSpan[]>(
    createOtlpHttpExportDelegate(
      convertLegacyHttpOptions(settings, 'TRACES', 'v1/traces', {
        'content-type': 'application/json',
      }),
      {
        serializeRequest: (spans: ReadableSpan[]) =>
          Buffer.concat([head, ...listed(spans.flatMap(placeOf)), tail]),
        deserializeResponse: () => undefined,
      },
      'otlp_http_json_span_exporter',
      { name: 'span', countItems: (spans) => spans.length },
      undefined,
    ),
  )
  const blank = blankSpan(resource)
  const counting = new CountingExporter(exporter, counts, trouble)
  const batches = new BatchSpanProcessor(counting, {
    maxQueueSize: mostWaiting,
    maxExportBatchSize: batchSize,
    scheduledDelayMillis: times.everyMs,
    exportTimeoutMillis: 2 * times.timeoutMs,
  })
  const pages = new Pages()
  const ids = new RandomIdGenerator()
  let zeroMs = performance.timeOrigin
  return {
    newTraceId: ids.generateTraceId,
    newSpanId: ids.generateSpanId,
    add(span: Span) {
      if (!counting.takesAnother()) return
      zeroMs = correctedZero(zeroMs)
      batches.onEnd(writtenSpan(blank, pages.add(spanJson(span, zeroMs))))
    },
    close: () =>
      within(
        closingMs,
        batches.shutdown().catch(() => undefined),
      ),
  }
}

/** A span that is written already. The processor of batches asks its context and its resource, and nobody the rest. */
type WrittenSpan = ReadableSpan & { place: Place }

/** Inherits all members but one: a copy of them would take 1.5 µs. */
function writtenSpan(blank: ReadableSpan, place: Place): WrittenSpan {
  const span = Object.create(blank) as WrittenSpan
  span.place = place
  return span
}

function blankSpan(resource: ReadableSpan['resource']): ReadableSpan {
  const context = { traceId: '', spanId: '', traceFlags: 1 }
  return {
    ...{ name: '', kind: 0, spanContext: () => context, resource, attributes: {} },
    ...{ startTime: [0, 0], endTime: [0, 0], duration: [0, 0], ended: true, status: { code: 0 } },
    ...{ links: [], events: [], instrumentationScope: { name: 'tollgate' } },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }
}

function placeOf(span: ReadableSpan): Place[] {
  return 'place' in span ? [(span as WrittenSpan).place] : []
}

/** Tells of a collector that begins to fail, and when it is back. */
export function collectorTrouble(log: Log): SpansOptions['trouble'] {
  const what = 'the collector takes no spans; requests go on as ever'
  return (err) => (err ? log.error({ err }, what) : log.info({}, `no longer: ${what}`))
}

/** Counts the spans that wait, and what becomes of them. */
class CountingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #counts: SpanCounts
  readonly #trouble: SpansOptions['trouble']
  #waiting = 0
  #isFailing = false

  constructor(exporter: SpanExporter, counts: SpanCounts, trouble: SpansOptions['trouble']) {
    this.#exporter = exporter
    this.#counts = counts
    this.#trouble = trouble
  }

  /** Counts one more that waits; `false` if there is no room for it. */
  takesAnother(): boolean {
    const hasRoom = this.#waiting < mostWaiting
    if (hasRoom) this.#waiting++
    else this.#counts.dropped++
    return hasRoom
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.#waiting -= spans.length
    this.#exporter.export(spans, (result) => {
      const hasFailed = Number(result.code) !== success
      this.#counts[hasFailed ? 'failed' : 'sent'] += spans.length
      if (hasFailed !== this.#isFailing) {
        this.#isFailing = hasFailed
        this.#trouble(hasFailed ? (result.error ?? new Error('it gave no reason')) : undefined)
      }
      done(result)
    })
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
