const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000] as const

/** A caller reads waits up to this long in seconds, as `Retry-After` says them. */
const mostSeconds = 600

/** A time as operators read it everywhere, to the second in UTC, such as `2026-11-25 18:17:36Z`. */
export function timeText(ms: number | undefined, otherwise = ''): string {
  return ms === undefined ? otherwise : `${toSecond(ms)}Z`
}

/** The end of something as operators read it, rounded up to a second; if it comes within a day of `nowMs`, also how soon. */
export function endText(ms: number, nowMs = Infinity): string {
  const [text, leftMs] = [timeText(endOf(ms)), ms - nowMs]
  return leftMs > 0 && leftMs < dayMs ? `${text} (in ${shortSpan(leftMs)})` : text
}

/** The end of a wait as callers read it: `18:17:36 UTC (297 s)`, on another day with its date. */
export function waitText(ms: number, nowMs: number): string {
  const endMs = endOf(ms)
  const isToday = Math.floor(endMs / dayMs) === Math.floor(nowMs / dayMs)
  const seconds = Math.max(1, Math.ceil((endMs - nowMs) / secondMs))
  const span = seconds <= mostSeconds ? `${seconds} s` : shortSpan(seconds * secondMs)
  return `${toSecond(endMs).slice(isToday ? 11 : 0)} UTC (${span})`
}

/** A moment for programs, in ISO 8601. */
export function iso(ms: number): string
export function iso(ms: number | undefined): string | undefined
export function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

/** The end of something for programs, in ISO 8601, rounded up to the second that people and headers are told. */
export function endIso(ms: number): string {
  return iso(endOf(ms))
}

function endOf(ms: number): number {
  return Math.ceil(ms / secondMs) * secondMs
}

function toSecond(ms: number): string {
  return iso(ms).slice(0, 19).replace('T', ' ')
}

/** A span of time in its two largest units, to the nearest minute from one on, such as `45 s`, `4 min` or `5 h 18 min`. */
function shortSpan(ms: number): string {
  if (ms < minuteMs) return `${Math.ceil(ms / secondMs)} s`
  const minutes = Math.round(ms / minuteMs)
  const [days, hours] = [Math.floor((minutes * minuteMs) / dayMs), Math.floor(minutes / 60) % 24]
  const parts = [`${days} d`, `${hours} h`, `${minutes % 60} min`]
  const first = days > 0 ? 0 : minutes * minuteMs >= hourMs ? 1 : 2
  return parts
    .slice(first, first + 2)
    .filter((part) => !part.startsWith('0 '))
    .join(' ')
}
