import {
  countIn,
  sumOfWindows,
  windowsWhere,
  type PageWindow,
} from '../../../../front/http/page/windows.ts'
import type { SumsView } from '../../../../front/counts/sum-rows.ts'

/** A part of the traffic. Each has a colour of its own in `style.css`. */
export type Part = Readonly<{ name: string; label: string; countOf: (sums: SumsView) => number }>

/** The parts of the traffic in some rows, from the bottom of its chart to the top. */
export function partsOf(rows: readonly SumsView[]): readonly Part[] {
  const shown = windowsWhere((window) => rows.some((row) => countIn(row, window) > 0))
  return [
    { name: 'answered', label: 'answered', countOf: (sums) => sums.admitted - sums.failed.backend },
    ...refusedBy(shown),
    { name: 'ban', label: 'by a ban', countOf: ({ ban }) => ban },
    { name: 'strangers', label: 'strangers', countOf: ({ strangers }) => strangers },
    { name: 'other', label: 'other', countOf: ({ refused, others }) => refused + others },
    { name: 'failed', label: 'failed', countOf: failedOf },
  ]
}

/** A part for what each window has refused. */
export function refusedBy(shown: readonly PageWindow[]): readonly Part[] {
  return shown.map((window, i) => ({
    name: window.name,
    label: `${i === 0 ? 'refused ' : ''}by the ${window.name}`,
    countOf: (sums) => countIn(sums, window),
  }))
}

/** All that the gateway refused, of what was asked. */
export function refusedOf(sums: SumsView): number {
  return sumOfWindows(sums) + sums.ban + sums.strangers + sums.refused
}

/** By whosever fault requests failed, in words. */
export const sides = new Map([
  ['gateway', 'gateway'],
  ['noBackend', 'no backend'],
  ['backend', 'backend'],
] as const)

/** All that failed, by whosever fault. */
export function failedOf({ failed: { gateway, noBackend, backend } }: SumsView): number {
  return gateway + noBackend + backend
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return '–'
  const share = (100 * part) / whole
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`
}

/** The figures above which a page marks them, as alerts do where they have one: shares, and p99 in milliseconds. */
export const marks = { refused: 0.2, failed: 0.05, own: 25, upstream: 1_000 } as const
