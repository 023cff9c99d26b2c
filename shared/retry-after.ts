/** The most characters that are read. */
const longest = 64

/** The seconds of a `Retry-After`, which is a number of them or a date; `undefined` without one that can be read. */
export function secondsOf(retryAfter: unknown, nowMs: number): number | undefined {
  if (typeof retryAfter !== 'string' && typeof retryAfter !== 'number') return undefined
  const text = String(retryAfter)
  // No date is that long, and V8 looks for one in all of it.
  if (text.length > longest) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000
  return Number.isNaN(seconds) ? undefined : seconds
}
