import { draftOf } from '../../config/interpret.ts'
import type { CompleteFile } from '../../config/defaults.ts'
import { counting } from './differences.ts'

/** The sentence about a file without mistakes. */
export function soundText(
  name: string,
  { plans, routes, upstreams, headers }: CompleteFile,
  unset: readonly string[],
): string {
  const counted = [
    counting(Object.keys(plans).length, 'plan'),
    counting(routes.length, 'route'),
    counting(Object.keys(upstreams).length, 'upstream'),
  ]
  const left = counting(unset.length, 'variable')
  const lacking = unset.length === 0 ? '' : ` Not set: ${left} (${unset.join(', ')}).`
  const draft = draftOf(headers.ietf)
  const fields = draft ? ` RateLimit and RateLimit-Policy are sent as of ${draft}.` : ''
  return `${name} is valid: ${counted.join(', ')}.${fields}${lacking}`
}
