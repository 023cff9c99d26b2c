import { Refusal } from '../../../shared/refusal.ts'

/** How often a gateway's own name may be in the `Via` of a request before that goes in a circle. */
const mostPasses = 1

/** The gateway's own line of `Via` (RFC 9110, 7.6.3), for what it hands on in either direction. */
export class Via {
  /** For a message that came in HTTP/1.1, as answers of backends do. */
  readonly line: string
  readonly #oldLine: string
  /** A hop of its own: its name behind a protocol. */
  readonly #own: RegExp

  constructor(name: string) {
    this.line = `1.1 ${name}`
    this.#oldLine = `1.0 ${name}`
    const spelled = name.toLowerCase().replaceAll('.', '\\.')
    this.#own = new RegExp(`(?:^|,)[ \\t]*[^\\s,]+[ \\t]+${spelled}(?=[\\s,]|$)`, 'g')
  }

  /** The line for a request that came in this version of HTTP. */
  lineFor(httpVersion: string): string {
    return httpVersion === '1.0' ? this.#oldLine : this.line
  }

  /** Whether a request with this `Via` has come by more than once. */
  isLoop(passed: string): boolean {
    const own = passed
      .toLowerCase()
      .replace(/\([^()]*\)/g, '')
      .match(this.#own)
    return own !== null && own.length > mostPasses
  }
}

export function looped(): Refusal {
  const sentence =
    'The request has come through this gateway twice before: proxies send it in a circle. Only the API’s operator can mend that.'
  return new Refusal('loop_detected', sentence)
}
