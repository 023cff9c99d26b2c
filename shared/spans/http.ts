import type { IncomingMessage } from 'node:http'
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
}> &
  Peer

/** The parts of a request that tell how its sender speaks to this server; each may be missing. */
type Peer = Readonly<{
  httpVersion?: string
  host?: string | undefined
  userAgent?: string | undefined
}>

/** The longest name of a client in spans. */
const longestAgent = 256

const hostPattern = /^([\w.~-]{1,255}|\[[\da-f:.]{2,45}\])(?::(\d{1,5}))?$/i

export function peerOf({ headers, httpVersion }: IncomingMessage): Peer {
  return { httpVersion, host: headers.host, userAgent: headers['user-agent'] }
}

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
  addPeer(attributes, exchange)
  if (status >= 500) attributes['error.type'] = String(status)
  return attributes
}

/** Adds the name by which this server was asked, the version of HTTP, and the client's name, without tokens. */
function addPeer(
  attributes: SpanAttributes,
  { host = '', scheme, httpVersion, userAgent }: HttpExchange,
): void {
  const [, name, port] = hostPattern.exec(host) ?? []
  if (name !== undefined) {
    attributes['server.address'] = loggable(name.replace(/^\[|\]$/g, ''))
    attributes['server.port'] = Number(port ?? (scheme === 'https' ? 443 : 80))
  }
  if (httpVersion !== undefined) attributes['network.protocol.version'] = httpVersion
  if (userAgent === undefined) return
  const agent = loggable(userAgent).slice(0, longestAgent)
  attributes['user_agent.original'] = Buffer.from(agent).toString()
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
