import { gatewayNowMs } from './gateway-clock.ts'

/** A time in UTC to the second, as everywhere in Tollgate. */
export function utc(iso: string | null | undefined, otherwise = '–'): string {
  return iso ? `${iso.slice(0, 19).replace('T', ' ')}Z` : otherwise
}

/** How long ago a time was, in words. */
export function ago(iso: string | null | undefined, nowMs = gatewayNowMs()): string {
  if (!iso) return 'never'
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(iso)) / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  const days = Math.floor(seconds / 86_400)
  return `${days} ${days === 1 ? 'day' : 'days'} ago`
}

/** A time for its tooltip: in the reader's own zone. */
export function local(iso: string): string {
  return new Date(iso).toLocaleString()
}
