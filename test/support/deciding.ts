import type { Test } from 'tap'
import type { AskingProxy } from '../../gateway/front/config/asking.ts'
import { startGateway, type Gateway, type GatewayOptions } from './gateway.ts'
import { caller, type Answer, type Call } from './http.ts'

export const decidedRoute = '[ { path: /v1/*, upstream: none } ]'

export type Deciding = Readonly<{
  gateway: Gateway
  /** The address for proxies that ask, and a call of it as it stands. */
  url: string
  call: Call
  /** Asks about a request as the proxy does. */
  ask: (method: string, target: string, headers?: Record<string, string>) => Promise<Answer>
}>

/** The headers by which each proxy says what it asks about. */
const pairs = {
  nginx: ['x-original-method', 'x-original-uri'],
  caddy: ['x-forwarded-method', 'x-forwarded-uri'],
  traefik: ['x-forwarded-method', 'x-forwarded-uri'],
} as const

/** A gateway that decides for a proxy; `decide` has more members of that section. */
export async function startDeciding(
  t: Test,
  by: AskingProxy,
  options: GatewayOptions & { decide?: string } = {},
): Promise<Deciding> {
  const { decide = '', routes = decidedRoute, more = '', ...others } = options
  const gateway = await startGateway(t, {
    ...others,
    routes,
    more: `decide: { port: 0, for: ${by}${decide} }\n${more}`,
  })
  const url = await gateway.app.listenForProxy({ host: '127.0.0.1', port: 0 })
  if (url === undefined) throw new Error('it has no address for proxies')
  const call = caller(url)
  return {
    ...{ gateway, url, call },
    ask(method, target, headers = {}) {
      if (by === 'envoy') return call(method, `/decide${target}`, undefined, headers)
      const [ofMethod, ofTarget] = pairs[by]
      const asked = { [ofMethod]: method, [ofTarget]: target }
      return call('GET', '/decide', undefined, { ...headers, ...asked })
    },
  }
}
