import type { Endpoint, Sent } from '../operations/context.ts'
import type { Content } from '../operations/parameter.ts'
import type { Operation } from '../operations/operation.ts'

/** A request of a command to the running gateway. */
export type GatewayRequest = Readonly<{ target: Endpoint; sent?: Sent }>

/** The values that a command was given as a request: in its query or its body. */
export function requestFor(
  { parameters }: Operation,
  endpoint: Endpoint,
  given: Readonly<Record<string, unknown>>,
): GatewayRequest {
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  for (const [name, parameter] of Object.entries(parameters)) {
    if (!('types' in parameter)) continue
    const [type = ''] = parameter.types
    const body = (given[name] as Content).read()
    return { target: endpoint, sent: { body, headers: { 'content-type': type } } }
  }
  if (named.length === 0) return { target: endpoint }
  if (/^(?:GET|DELETE) /.test(endpoint)) return { target: withQuery(endpoint, named) }
  const body = JSON.stringify(Object.fromEntries(named))
  return { target: endpoint, sent: { body, headers: { 'content-type': 'application/json' } } }
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
