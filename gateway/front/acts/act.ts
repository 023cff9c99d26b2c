import type { IncomingHttpHeaders } from 'node:http'
import { windowNames } from '../../../shared/windows.ts'
import { durationFrom } from '../../../shared/units.ts'
import type { Announced } from '../config/deprecations.ts'

/** All that a test key may have acted. `slow` takes a time. */
export const actNames = [
  ...windowNames,
  'ban',
  'too_many_failed_attempts',
  'too_many_at_once',
  'expired',
  'forbidden',
  'sunset',
  'brownout',
  'bad_gateway',
  'gateway_timeout',
  'unavailable',
  'near_limit',
  'deprecated',
  'slow',
] as const

export type ActName = (typeof actNames)[number]

/** The longest time that an answer may be held back. */
const longestMs = 10_000

/** A wish of a test key: the answer that it asks for. The stages act it, each the part that it would play for real. */
export class Act {
  /** `undefined` for a wish that nobody knows. */
  readonly name: ActName | undefined
  /** The wish as it was sent. */
  readonly text: string
  /** How long a `slow` answer takes. */
  readonly slowMs: number
  /** Whether the answer is acted. A real refusal may come first. */
  isActed = false
  /** The deprecation that is acted; it goes before the one in force. */
  deprecated: Announced | undefined

  constructor(text: string) {
    const [word = '', time] = text.split('=', 2)
    const ms = word === 'slow' ? (durationFrom(time ?? '') ?? 0) : 0
    const isKnown = word === 'slow' ? ms > 0 && ms <= longestMs : time === undefined
    this.text = text
    this.name = isKnown ? actNames.find((name) => name === word) : undefined
    this.slowMs = ms
  }
}

/** The wish of a request's headers; `undefined` without one. */
export function actFrom(headers: IncomingHttpHeaders): Act | undefined {
  const text = headers['x-gateway-act']
  return text === undefined ? undefined : new Act(String(text))
}
