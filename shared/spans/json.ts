import type { Attributes } from '@opentelemetry/api'
import type { Span, SpanEvent } from './span.ts'

const kinds = { server: 2, client: 3 } as const

/** Flags of a sampled span that says whether its parent is another process's. */
const localFlags = 0x101
const remoteFlags = 0x301

/** Text that JSON has as it is. */
const plain = /^[ !#-[\]-~]*$/

/**
 * A span as OTLP's JSON, in ASCII. It is written at once because it waits for seconds: OpenTelemetry's own serializer
 * takes 8.5 µs a span, in one piece for all of a batch, and needs it as an object until then.
 *
 * `zeroMs` is the zero of `performance` since 1970.
 */
export function spanJson(span: Span, zeroMs: number): string {
  const { traceId, id, parentId, state, event } = span
  const parent = parentId === undefined ? '' : `"parentSpanId":"${parentId}",`
  const traceState = state === undefined ? '' : `"traceState":${quoted(state)},`
  const flags = span.hasRemoteParent ? remoteFlags : localFlags
  return (
    `{"traceId":"${traceId}","spanId":"${id}",${parent}${traceState}"flags":${flags},` +
    `"name":${quoted(span.name)},"kind":${kinds[span.kind]},` +
    `"startTimeUnixNano":"${nanoseconds(zeroMs + span.beganAtMs)}",` +
    `"endTimeUnixNano":"${nanoseconds(zeroMs + span.endedAtMs)}",` +
    (event ? `"events":[${eventJson(event, zeroMs)}],` : '') +
    (span.isError ? '"status":{"code":2},' : '') +
    `"attributes":${attributesJson(span.attributes)}}`
  )
}

function eventJson({ name, atMs, attributes }: SpanEvent, zeroMs: number): string {
  const at = nanoseconds(zeroMs + atMs)
  return `{"name":${quoted(name)},"timeUnixNano":"${at}","attributes":${attributesJson(attributes)}}`
}

/** The beginning and the end of a request to a collector, around the spans of a service with commas between them. */
export function requestFrame(service: Attributes, version: string): [Buffer, Buffer] {
  const resource = `{"attributes":${attributesJson(service)}}`
  const scope = `{"name":"tollgate","version":"${version}"}`
  const head = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[`
  return [Buffer.from(head), Buffer.from(']}]}]}')]
}

/** Attributes as OTLP's JSON. */
function attributesJson(attributes: Attributes): string {
  let json = ''
  for (const name in attributes) {
    const value = attributes[name]
    if (typeof value !== 'string' && typeof value !== 'number') continue
    let attribute = attributesByName.get(name)
    if (!attribute) attributesByName.set(name, (attribute = new Attribute(name)))
    json += json === '' ? attribute.json(value) : `,${attribute.json(value)}`
  }
  return `[${json}]`
}

/** The values that an attribute keeps the JSON of. */
const mostKept = 200

/** An attribute of one name. It keeps the JSON of its values while they are few: most are, and to write one takes 180 ns. */
class Attribute {
  readonly #head: string
  #kept: Map<string | number, string> | undefined = new Map()

  constructor(name: string) {
    this.#head = `{"key":${quoted(name)},"value":{`
  }

  json(value: string | number): string {
    const kept = this.#kept?.get(value)
    if (kept !== undefined) return kept
    const json = `${this.#head}${valueJson(value)}}}`
    if (this.#kept?.set(value, json).size === mostKept) this.#kept = undefined
    return json
  }
}

const attributesByName = new Map<string, Attribute>()

function valueJson(value: string | number): string {
  if (typeof value === 'string') return `"stringValue":${quoted(value)}`
  return Number.isInteger(value) ? `"intValue":"${value}"` : `"doubleValue":${value}`
}

function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text).replace(/[^ -~]/g, escaped)
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Milliseconds since 1970 as nanoseconds, in more digits than a number has. */
function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds)
  const rest = Math.floor((milliseconds - whole) * 1_000_000)
  return `${whole}${String(1_000_000 + rest).slice(1)}`
}
