import { Refusal } from '../../../shared/refusal.ts'

/** The answer of a gateway that has no token; the command line recognises it. */
export const noToken = 'no ADMIN_TOKEN is set'

/** The refusal of a gateway without tokens. */
export function closed(): Refusal {
  return new Refusal(
    'forbidden',
    `The admin API is closed: ${noToken}. Set it where the gateway starts.`,
  )
}

/** The refusal of a request without a token. */
export function missing(): Refusal {
  const message = 'Send the token: "Authorization: Bearer <ADMIN_TOKEN>".'
  return new Refusal('missing_api_key', message, challenge())
}

/** The refusal of a request with a wrong token. */
export function invalid(): Refusal {
  const message = 'The token isn’t one of those in ADMIN_TOKEN.'
  return new Refusal('invalid_api_key', message, challenge('invalid_token'))
}

/** The refusal of a request with half a session, or with one that has ended. */
export function signedOut(): Refusal {
  const message =
    'This session of the console has ended, or its secret is missing (X-Console-Secret). Sign in again.'
  return new Refusal('invalid_api_key', message, challenge('invalid_token'))
}

/** The refusal of a request in which a trusted proxy names nobody, or more than one. */
export function misnamed(header: string, mostCharacters: number): Refusal {
  const message = `${header} must be there once, and name an operator in at most ${mostCharacters} printable characters.`
  return new Refusal('invalid_api_key', message, challenge())
}

function challenge(error?: string) {
  const why = error === undefined ? '' : `, error="${error}"`
  return {
    'www-authenticate': `Bearer realm="tollgate admin"${why}`,
    'cache-control': 'no-store',
  }
}
