import type { Endpoint, Sent } from '../operations/context.ts'
import type { Content } from '../operations/parameter.ts'
import type { Operation } from '../operations/operation.ts'

/** A request of a command to the running gateway. */
export type GatewayRequest = Readonly<{ target: Endpoint; sent: Sent }>

/** The values that a command was given as a request: in its query, its headers or its body. */
export function requestFor(
  { parameters }: Operation,
  endpoint: Endpoint,
  values: Readonly<Record<string, unknown>>,
): GatewayRequest {
  const headers: Record<string, string> = { accept: 'application/json' }
  const named: [name: string, value: unknown][] = []
  let content: Content | undefined
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = values[name]
    if (value === undefined) continue
    if ('types' in parameter) {
      content = value as Content
      headers['content-type'] = parameter.types[0] ?? ''
    } else if ('header' in parameter && typeof value === 'string') {
      headers[parameter.header ?? ''] = `"${value}"`
    } else named.push([name, value])
  }
  if (content) return { target: endpoint, sent: { body: content.read(), headers } }
  if (named.length === 0) return { target: endpoint, sent: { headers } }
  if (/^(?:GET|DELETE) /.test(endpoint)) {
    return { target: withQuery(endpoint, named), sent: { headers } }
  }
  headers['content-type'] = 'application/json'
  return { target: endpoint, sent: { body: JSON.stringify(Object.fromEntries(named)), headers } }
}

function withQuery(
  endpoint: Endpoint,
  named: readonly (readonly [name: string, value: unknown])[],
): Endpoint {
  const query = new URLSearchParams()
  for (const [name, value] of named) {
    query.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return `${endpoint}?${query.toString()}`
}
