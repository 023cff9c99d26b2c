import { Refusal } from '../../../shared/refusal.ts'

/** How often a gateway's own name may be in the `Via` of a request before that goes in a circle. */
const mostPasses = 1

/** The gateway's own line of `Via` (RFC 9110, 7.6.3), for what it hands on in either direction. */
export class Via {
  /** For a message that came in HTTP/1.1, as answers of backends do. */
  readonly line: string
  readonly #oldLine: string
  readonly #name: string

  constructor(name: string) {
    this.line = `1.1 ${name}`
    this.#oldLine = `1.0 ${name}`
    this.#name = name.toLowerCase()
  }

  /** The line for a request that came in this version of HTTP. */
  lineFor(httpVersion: string): string {
    return httpVersion === '1.0' ? this.#oldLine : this.line
  }

  /** Whether a request with this `Via` has come by more than once. */
  isLoop(passed: string): boolean {
    const hops = passed.replace(/\([^()]*\)/g, '').split(',')
    const own = hops.filter((hop) => nameIn(hop) === this.#name)
    return own.length > mostPasses
  }
}

/** The name in one part of a `Via`, behind the protocol. */
function nameIn(hop: string): string | undefined {
  return hop
    .trim()
    .split(/[ \t]+/, 2)[1]
    ?.toLowerCase()
}

export function looped(): Refusal {
  const sentence =
    'The request has come through this gateway twice before: proxies send it in a circle. Only the API’s operator can mend that.'
  return new Refusal('loop_detected', sentence)
}
