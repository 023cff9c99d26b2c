const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** The least times between the tries of a notice. After the last one it is given up. */
export const delaysMs: readonly number[] = [
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  8 * hour,
  24 * hour,
]

/** The part of a time by which a try may come later, so that notices that failed together don't come back together. */
const mostLater = 0.2

/** The longest that a receiver may ask to be left alone. */
const longestWishMs = 24 * hour

/**
 * The time from a try that failed, after so many others, to the next one: that of the schedule, or of the receiver's
 * `Retry-After` if that is later; `undefined` after the last try. `random` is from 0 to 1.
 */
export function delayAfter(
  tries: number,
  retryAfterMs = 0,
  random: number = Math.random(),
): number | undefined {
  const leastMs = delaysMs[tries]
  if (leastMs === undefined) return undefined
  const wishedMs = Math.min(retryAfterMs, longestWishMs)
  return Math.max(Math.round(leastMs * (1 + mostLater * random)), Math.ceil(wishedMs))
}
