import type { CompleteFile } from '../../config/defaults.ts'
import { counting } from './differences.ts'

/** The sentence about a file without mistakes. */
export function soundText(
  name: string,
  { plans, routes, upstreams }: CompleteFile,
  unset: readonly string[],
): string {
  const counted = [
    counting(Object.keys(plans).length, 'plan'),
    counting(routes.length, 'route'),
    counting(Object.keys(upstreams).length, 'upstream'),
  ]
  const left = counting(unset.length, 'variable')
  const lacking = unset.length === 0 ? '' : ` Not set: ${left} (${unset.join(', ')}).`
  return `${name} is sound: ${counted.join(', ')}.${lacking}`
}
