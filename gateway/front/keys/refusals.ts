import { Refusal, type Reason } from '../../../shared/refusal.ts'
import { authorization, titled } from '../http/key-header.ts'
import type { NoToken } from '../http/token-source.ts'

const challenge = 'Bearer realm="tollgate"'
const secondsUntilBack = '5'

/** A key whose plan is gone. It is made once, as most are: a new one for each request would be a twentieth of the cost of refusing. */
export const unplanned = refusing(
  'plan_gone',
  'forbidden',
  'The plan of your key is not offered any more.',
)

export type TokenlessRefusals = Readonly<Record<Exclude<NoToken['why'], 'failed'>, () => Refusal>>

/** The refusals of requests without a token. Sentences name the first header; none, where an app finds keys in its own way. */
export function tokenlessRefusals([first = '', ...others]: readonly string[]): TokenlessRefusals {
  const isBearer = first === titled(authorization)
  const line = first && `: "${first}: ${isBearer ? 'Bearer ' : ''}<API_KEY>"`
  const how = isBearer ? 'after the word Bearer' : 'alone'
  const all = [first, ...others].join(' and ')
  return {
    missing: refusing(
      'no_header',
      'missing_api_key',
      `Send your API key${line}.`,
      challenging(challenge),
    ),
    malformed: refusing(
      'malformed_token',
      'invalid_api_key',
      `Write your API key ${how}${line && `, in one header${line}`}.`,
      challenging(`${challenge}, error="invalid_token"`),
    ),
    differing: refusing(
      'two_tokens',
      'invalid_request',
      `Send one API key: those in ${all} differ.`,
    ),
  }
}

/** The refusals of requests with a ticket. */
export const ticketRefusals = {
  beside: refusing(
    'two_tokens',
    'invalid_request',
    'Send one ticket or one API key, and not both.',
  ),
  misplaced: refusing(
    'ticket',
    'invalid_api_key',
    'A ticket is for a WebSocket, or for a GET that accepts text/event-stream. Send your API key.',
    challenging(`${challenge}, error="invalid_token"`),
  ),
  spent: refusing(
    'ticket',
    'invalid_api_key',
    'The ticket is not valid: it was used, or is older than a minute. Ask for another one.',
    challenging(`${challenge}, error="invalid_token"`),
  ),
} as const

// Callers get one and the same answer for all of these, so that nobody can find out which keys there are.
export const malformed = invalid('malformed_token')
export const mistyped = invalid('bad_check')
export const unknown = invalid('unknown_token')
export const ended = {
  expired: invalid('expired'),
  disabled: invalid('disabled'),
  revoked: invalid('revoked'),
  rotated_out: invalid('rotated_out'),
} as const

function invalid(reason: Reason): () => Refusal {
  const refusal = invalidBecause(reason)
  return () => refusal
}

export function invalidBecause(reason: Reason): Refusal {
  const headers = challenging(`${challenge}, error="invalid_token"`)
  return new Refusal('invalid_api_key', 'The API key is not valid.', headers).because(reason)
}

/** A request that lacks some of the scopes that it needs. */
export function unscoped(needs: readonly string[]): Refusal {
  const [named, some] = [needs.join(' and '), needs.length > 1]
  const sentence = some
    ? `This request needs the scopes ${named}. Your key doesn't have all of them.`
    : `This request needs the scope ${named}. Your key doesn't have it.`
  const scope = `error="insufficient_scope", scope="${needs.join(' ')}"`
  const headers = challenging(`${challenge}, ${scope}`)
  return new Refusal('forbidden', sentence, headers).because('scope')
}

/** A token that can't be checked, for whatever reason. */
export function unchecked(reason: Reason): Refusal {
  const sentence = `Keys can't be checked just now. Try again in ${secondsUntilBack} seconds.`
  const headers = { 'retry-after': secondsUntilBack }
  return new Refusal('service_unavailable', sentence, headers).because(reason)
}

function refusing(reason: Reason, ...about: ConstructorParameters<typeof Refusal>): () => Refusal {
  const refusal = new Refusal(...about).because(reason)
  return () => refusal
}

function challenging(challenge: string): Readonly<Record<string, string>> {
  return { 'www-authenticate': challenge, 'cache-control': 'no-store' }
}
