import { withCommas } from '../../../shared/commas.ts'
import { loggable } from '../../../shared/log.ts'
import { Refusal } from '../../../shared/refusal.ts'

/** The path has a route, but not for this method. */
export function notAllowed(methods: readonly string[]): Refusal {
  const allow = methods.join(', ')
  return new Refusal('method_not_allowed', `This path supports only ${allow}.`, { allow })
}

/** A GET or HEAD request with a body. */
export function bodied(method: string): Refusal {
  return new Refusal('invalid_request', `A ${method} request must not have a body.`)
}

/** A body over the limit of its route. */
export function tooLarge(limit: number): Refusal {
  const sentence = `The body is too large. At most ${withCommas(limit)} bytes are allowed here.`
  return new Refusal('payload_too_large', sentence)
}

/** A request that undici refuses to send. */
export function unsendable(): Refusal {
  return new Refusal(
    'invalid_request',
    'The request has a header or a path that can’t be forwarded.',
  )
}

/** A body that its own digest isn't of. */
export function wrongDigest(): Refusal {
  const sentence = 'The Content-Digest header doesn’t fit the body, or can’t be read.'
  return new Refusal('invalid_request', sentence)
}

/** A caller that takes too long to send. */
export function slow(): Refusal {
  return new Refusal('request_timeout', 'The request did not arrive in time.')
}

/** A backend that accepts no connection. */
export function unreachable(): Refusal {
  return new Refusal('bad_gateway', 'The backend could not be reached.').because('refused')
}

/** A backend that closed the connection, or sent no valid HTTP. */
export function broken(): Refusal {
  return new Refusal(
    'bad_gateway',
    'The backend closed the connection or sent an invalid response.',
  ).because('reset')
}

/** A backend whose answer has a header that can't be forwarded. */
export function unforwardable(header: string, why: string): Refusal {
  const sentence = `The backend’s answer can’t be forwarded: ${why}.`
  return new Refusal('bad_gateway', sentence, {}, `the header ${loggable(header)}`).because(
    'bad_header',
  )
}

/** A backend with another secret. */
export function unsigned(): Refusal {
  const sentence = 'The backend does not take requests from this gateway.'
  return new Refusal('bad_gateway', sentence).because('unsigned')
}

/** A backend that is too slow. */
export function late(): Refusal {
  return new Refusal('gateway_timeout', 'The backend did not answer in time.').because('late')
}

/** An upstream without a healthy target. */
export function unhealthy(): Refusal {
  const sentence = 'The backend is out of service just now. Try again in a moment.'
  return new Refusal('service_unavailable', sentence, { 'retry-after': '1' }).because(
    'none_healthy',
  )
}

/** A quota that has its share of the upstream's room already. */
export function tooManyAtOnce(): Refusal {
  const sentence =
    'Too many of your requests are on their way at once. Wait for some of them to be answered, and try again.'
  return new Refusal('too_many_at_once', sentence, {
    'retry-after': '1',
    'cache-control': 'no-store',
  }).because('share')
}

/** An upstream without room for another request. */
export function overloaded(): Refusal {
  const sentence = 'Too many requests are on their way to the backend. Try again in a moment.'
  return new Refusal('service_unavailable', sentence, { 'retry-after': '1' }).because('overloaded')
}
