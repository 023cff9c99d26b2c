import { Refusal } from '../../shared/refusal.ts'

/** A path is there, but not for this method. */
export function notAllowed(methods: readonly string[]): Refusal {
  const allow = methods.join(', ')
  return new Refusal('method_not_allowed', `Only ${allow} can be asked here.`, { allow })
}

/** A body where none belongs. */
export function bodied(method: string): Refusal {
  return new Refusal('invalid_request', `A request with ${method} has no body.`)
}

/** A body over the limit of its route. */
export function tooLarge(limit: number): Refusal {
  const sentence = `A body may have ${limit.toLocaleString('en')} bytes here.`
  return new Refusal('payload_too_large', sentence)
}

/** What can’t be written down for a backend. */
export function unsendable(): Refusal {
  return new Refusal('invalid_request', 'The request has a header or a path that can’t be sent on.')
}

/** A caller that takes too long to send. */
export function slow(): Refusal {
  return new Refusal('request_timeout', 'The request did not arrive in time.')
}

/** A backend that takes no connection. */
export function unreachable(): Refusal {
  return new Refusal('bad_gateway', 'The backend could not be reached.')
}

/** A backend that breaks off, or garbles. */
export function broken(): Refusal {
  return new Refusal('bad_gateway', 'The backend broke off, or what it answered is no HTTP.')
}

/** A backend with another secret. */
export function unsigned(): Refusal {
  return new Refusal('bad_gateway', 'The backend does not take requests from this gateway.')
}

/** A backend that is too slow. */
export function late(): Refusal {
  return new Refusal('gateway_timeout', 'The backend did not answer in time.')
}

/** No target that is fit to be asked. */
export function unhealthy(): Refusal {
  const sentence = 'The backend is out of service just now. Try again in a moment.'
  return new Refusal('service_unavailable', sentence, { 'retry-after': '1' })
}

/** More of one quota on its way than its share, while others want to be served, too. */
export function tooManyAtOnce(): Refusal {
  const sentence =
    'Too many of your requests are on their way at once. Wait for some of them to be answered, and try again.'
  return new Refusal('too_many_at_once', sentence, {
    'retry-after': '1',
    'cache-control': 'no-store',
  })
}

/** More on its way than may be. */
export function overloaded(): Refusal {
  const sentence = 'Too many requests are on their way to the backend. Try again in a moment.'
  return new Refusal('service_unavailable', sentence, { 'retry-after': '1' })
}
