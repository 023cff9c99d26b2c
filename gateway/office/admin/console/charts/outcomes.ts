import type { SumsView } from '../../../../front/counts/sum-rows.ts'

/** The parts of the traffic, from the bottom of its chart to the top. Each has a colour of its own in `style.css`. */
export const parts: readonly Readonly<{
  name: string
  label: string
  countOf: (sums: SumsView) => number
}>[] = [
  { name: 'answered', label: 'answered', countOf: (sums) => sums.admitted - sums.backendFailed },
  { name: 'minute', label: 'refused by the minute', countOf: ({ minute }) => minute },
  { name: 'day', label: 'by the day', countOf: ({ day }) => day },
  { name: 'ban', label: 'by a ban', countOf: ({ ban }) => ban },
  { name: 'strangers', label: 'strangers', countOf: ({ strangers }) => strangers },
  { name: 'other', label: 'other', countOf: ({ refused, others }) => refused + others },
  { name: 'failed', label: 'failed', countOf: (sums) => sums.failed + sums.backendFailed },
]

/** All that the gateway refused, of what was asked. */
export function refusedOf({ minute, day, ban, strangers, refused }: SumsView): number {
  return minute + day + ban + strangers + refused
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return '–'
  const share = (100 * part) / whole
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`
}
