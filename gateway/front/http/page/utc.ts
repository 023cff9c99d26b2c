/** How far the gateway's clock is ahead of this browser's. */
let aheadMs = 0

/** The most that a `Date` header, to the second, and an answer's way differ without any clock being wrong. */
const toleranceMs = 2_000

/** Takes the gateway's time from the `Date` of an answer: the clock of a browser may be wrong by days. */
export function hearGatewayTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) > toleranceMs ? difference : 0
}

/** The time at the gateway, from which ages and days are counted. */
export function gatewayNowMs(): number {
  return Date.now() + aheadMs
}

/* The server's functions for times aren't part of a page: a test holds these to them. */

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000] as const

/** A time in UTC to the second, as everywhere in Tollgate. */
export function utc(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')}Z`
}

/** A time for its tooltip: in the reader's own zone, and which that is. */
export function local(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })
}

/** A time in UTC as people say it: `13:32`, of another day `28 Nov, 13:32`, of another year `28 Nov 2025, 13:32`. */
export function clockTime(iso: string, nowMs = gatewayNowMs()): string {
  const now = new Date(nowMs).toISOString()
  if (iso.slice(0, 10) === now.slice(0, 10)) return iso.slice(11, 16)
  const month = new Date(iso).toLocaleString('en', { month: 'short', timeZone: 'UTC' })
  const year = iso.slice(0, 4) === now.slice(0, 4) ? '' : ` ${iso.slice(0, 4)}`
  return `${Number(iso.slice(8, 10))} ${month}${year}, ${iso.slice(11, 16)}`
}

/** How far a time is, such as `in 4 min` or `28 min ago`; empty for one that is more than a day away. */
export function nearness(iso: string, nowMs = gatewayNowMs()): string {
  const leftMs = Date.parse(iso) - nowMs
  // If clocks differ a little, an event of just now seems to come.
  if (leftMs > toleranceMs) return leftMs < dayMs ? `in ${span(leftMs)}` : ''
  return leftMs > -dayMs ? `${span(Math.max(0, -leftMs))} ago` : ''
}

/** A span of time in its two largest units, to the nearest minute from one on. */
function span(ms: number): string {
  if (ms < minuteMs) return `${Math.ceil(ms / 1_000)} s`
  const minutes = Math.round(ms / minuteMs)
  if (minutes * minuteMs === dayMs) return '1 d'
  const parts = [`${Math.floor((minutes * minuteMs) / hourMs)} h`, `${minutes % 60} min`]
  return parts.filter((part) => !part.startsWith('0 ')).join(' ')
}
