import { gatewayNowMs } from '../../../front/http/page/gateway-time.ts'

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
