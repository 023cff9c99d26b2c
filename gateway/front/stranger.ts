import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { keepShortly } from '../../shared/node/quiet.ts'
import type { Refusal } from '../../shared/refusal.ts'
import type { Config } from './config/config.ts'
import { noUpstream } from './config/asking.ts'
import { hopAddress, Ranges, senderFinder } from './http/address.ts'
import type { Strangers } from './limits/strangers.ts'
import { refuse } from './request-record.ts'

/** How long an idle connection stays open after a stranger was refused on it. */
const strangersIdleMs = 5_000

/** Finds the address of a request's sender, behind trusted proxies. */
export type AddressOf = (request: FastifyRequest) => string

/** `trusted` is what `proxiesTrustedBy` gives, `asking` the proxy that asks, where requests are only decided. */
export function addressFinder(trusted: Ranges | undefined, asking?: string): AddressOf {
  if (!trusted) return ({ ip }) => hopAddress(ip)
  const find = senderFinder(trusted, asking)
  return ({ raw }) => find(raw)
}

/** The proxies that a configuration trusts; `undefined` in an app that decides it by its own `trustProxy`. */
export function proxiesTrustedBy(app: FastifyInstance, config: Config): Ranges | undefined {
  return hasTrustProxy(app) ? undefined : new Ranges(config.trustedProxies)
}

/** A setting that an app can't have, and why not, as a sentence without its subject. */
export type Unfit = readonly [path: readonly (string | number)[], sentence: string]

/** The settings of a configuration that an app can't have. */
export function unfitFor(app: FastifyInstance, config: Config): Unfit[] {
  const unfit: Unfit[] = []
  if (config.trustedProxies.length > 0 && hasTrustProxy(app)) {
    const sentence =
      'must be left out: the app has trustProxy, which says whose X-Forwarded-For counts'
    unfit.push([['trustedProxies'], sentence])
  }
  const i = config.routes.findIndex(({ upstream }) => upstream === noUpstream)
  if (i >= 0) {
    const sentence = `is ${noUpstream}: only a gateway of its own decides for a proxy`
    unfit.push([['routes', i, 'upstream'], sentence])
  }
  return unfit
}

/** Fastify shows the setting by nothing else: requests have `ips` only with it. */
function hasTrustProxy(app: FastifyInstance): boolean {
  return app.hasRequestDecorator('ips')
}

/** Refuses a request without a valid key with `why`, or with 429 if its address sent too many. Counts it. */
export type RefuseStranger = (
  request: FastifyRequest,
  reply: FastifyReply,
  why: () => Refusal,
) => void

export function strangerRefuser(strangers: Strangers, addressOf: AddressOf): RefuseStranger {
  return (request, reply, why) => {
    const { refusal, standing } = strangers.refuse(addressOf(request), why)
    if (request.tollgate) request.tollgate.stand = standing
    keepShortly(reply.raw, request.raw.socket, strangersIdleMs)
    void refuse(reply, refusal)
  }
}
