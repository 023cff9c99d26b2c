import { loggable } from '../log.ts'
import type { SpanAttributes } from './span.ts'

/** The methods that have a name of their own in spans, by OpenTelemetry's conventions. */
const namedMethods = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
)

/** An answered request, as the conventions for HTTP tell of it. */
export type HttpExchange = Readonly<{
  method: string
  /** Without a query. */
  path: string
  scheme: string
  /** The pattern of its route; `undefined` without one. */
  route: string | undefined
  status: number
}>

/** The name of a server's span: never a path, of which there may be any number. */
export function serverSpanName({ method, route }: HttpExchange): string {
  const verb = verbOf(method)
  return route === undefined ? verb : `${verb} ${route}`
}

/** A method in the name of a span. */
export function verbOf(method: string): string {
  return namedMethods.has(method) ? method : 'HTTP'
}

/** The attributes of a server's span. */
export function serverAttributes(exchange: HttpExchange): SpanAttributes {
  const { method, path, scheme, route, status } = exchange
  const attributes = methodAttributes(method)
  attributes['url.path'] = spanPath(path)
  attributes['url.scheme'] = scheme
  if (route !== undefined) attributes['http.route'] = route
  attributes['http.response.status_code'] = status
  if (status >= 500) attributes['error.type'] = String(status)
  return attributes
}

/** A path for spans: as the log has it, copied because a part of a URL would keep all of it in memory while its span waits. */
export function spanPath(path: string): string {
  return Buffer.from(loggable(path)).toString()
}

/** The method's own attributes, with which those of a span begin. */
export function methodAttributes(method: string): SpanAttributes {
  if (namedMethods.has(method)) return { 'http.request.method': method }
  return { 'http.request.method': '_OTHER', 'http.request.method_original': method }
}
