import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../shared/clock.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import type { Config } from '../../front/config/config.ts'
import { pageScreen } from './hosts.ts'
import { signedOut } from './refusals.ts'
import type { Session, Sessions } from './session.ts'
import { cookiesIn, originFault, setCookie, browserOriginOf } from './browser-origin.ts'

/** A request with a session, and the headers that its answer needs. */
export type RequestSession = Readonly<{
  session: Session
  headers: Readonly<Record<string, string>>
}>

export type SessionFinderOptions = Readonly<{
  sessions: Sessions
  /** The configuration in force. */
  config: () => Config
  clock: Clock
}>

/**
 * Finds the session of a request: it needs the cookie, the secret, and a browser that says that the console's own page
 * has sent it, also for GET. Gives a refusal if something of this is wrong, and nothing without a cookie.
 */
export function sessionFinder({ sessions, config, clock }: SessionFinderOptions) {
  return (request: IncomingMessage): RequestSession | Refusal | undefined => {
    const { headers } = request
    if (headers.cookie === undefined) return undefined
    const { admin, trustedProxies } = config()
    const visit = browserOriginOf(request, trustedProxies)
    const cookies = cookiesIn(headers.cookie, visit)
    if (cookies.length === 0) return undefined
    const fault = pageScreen(admin)(request) ?? originFault(request, visit)
    if (fault) return fault
    const entered = sessions.find(cookies, String(headers['x-console-secret'] ?? ''))
    if (!entered) return signedOut()
    const { session, cookie } = entered
    const renewed =
      cookie === undefined
        ? {}
        : { 'set-cookie': setCookie(visit, cookie, session.endsAtMs - clock()) }
    return { session, headers: { ...privately, ...renewed } }
  }
}

/** Headers of answers to the console's page: no cache keeps them, and no other page may include them. */
export const privately = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}
