import { Refusal } from '../../shared/refusal.ts'
import { BoundedMap } from '../bounded-map.ts'
import { retryAfter, tellingWindow, type Standing } from './headers.ts'

/** What is said to whom it is too early for, by code. */
const reasons = {
  rate_limit_exceeded: (limit: number, window: string) =>
    `${limit.toLocaleString('en')} requests a ${window} are used up.`,
  key_banned: () => 'Your key is banned for a while.',
  too_many_failed_attempts: () => 'Too many requests without a valid key came from your address.',
} as const

/** Those made lately. Within a second most are told the same, and to make one costs 2 µs. */
const made = new BoundedMap<Refusal>(1_000)

/** A refusal that says why, and after how many seconds to come back. */
export function comeBack(code: keyof typeof reasons, standing: Standing): Refusal {
  const { limit = 0, name = '' } = tellingWindow(standing.decision, standing.limits) ?? {}
  const seconds = retryAfter(standing)
  const content = `${code} ${limit} ${name} ${seconds}`
  const known = made.get(content)
  if (known) return known
  const after = `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
  const refusal = new Refusal(code, `${reasons[code](limit, name)} ${after}`, {
    'retry-after': String(seconds),
    'cache-control': 'no-store',
  })
  made.set(content, refusal)
  return refusal
}
