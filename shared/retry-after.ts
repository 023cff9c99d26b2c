/** The seconds of a `Retry-After`, which is a number of them or a date; `undefined` without one that can be read. */
export function secondsOf(retryAfter: unknown, nowMs: number): number | undefined {
  if (typeof retryAfter !== 'string' && typeof retryAfter !== 'number') return undefined
  const text = String(retryAfter)
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000
  return Number.isNaN(seconds) ? undefined : seconds
}
