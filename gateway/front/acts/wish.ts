import { windowNames } from '../../../shared/windows.ts'
import { durationFrom } from '../../../shared/units.ts'

/** All that a test key may have acted. `slow` takes a time. */
export const actNames = [
  ...windowNames,
  'ban',
  'at_once',
  'prepaid',
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

/** The answer that a test key asks for: its name, and how long a `slow` one takes. */
export type Wish = Readonly<{ name: ActName; slowMs: number }>

/** The wish in a header; `undefined` for one that nobody knows. */
export function wishFrom(text: string): Wish | undefined {
  const [word = '', time] = text.split('=', 2)
  const slowMs = word === 'slow' ? (durationFrom(time ?? '') ?? 0) : 0
  const isKnown = word === 'slow' ? slowMs > 0 && slowMs <= longestMs : time === undefined
  const name = isKnown ? actNames.find((each) => each === word) : undefined
  return name && { name, slowMs }
}
