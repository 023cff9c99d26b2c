import { timeText } from '../times.ts'
import { dayMs } from '../windows.ts'

/** A certificate that ends within this time should be renewed. */
export const soonMs = 14 * dayMs

/** About a certificate that ends soon or has ended, a sentence without its subject; `undefined` for one that lasts. */
export function endSentence(endsAtMs: number, nowMs: number): string | undefined {
  const leftMs = endsAtMs - nowMs
  if (leftMs > soonMs) return undefined
  const endsAt = timeText(endsAtMs)
  if (leftMs <= 0) return `has ended at ${endsAt}: renew it`
  const days = Math.ceil(leftMs / dayMs)
  return `ends at ${endsAt}, in less than ${days === 1 ? 'a day' : `${days} days`}: renew it`
}
