import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  capital,
  countIn,
  isLimited,
  windowsWhere,
  type PageWindow,
} from '../../../../front/http/page/windows.ts'
import { column, numeric, quotaColumn, table, type Column } from '../page-parts.ts'
import type { HitQuota, PlanPreview, RefusedQuota } from '../../../foresight/preview.ts'

/** The quotas that other limits would have refused, and those that were refused by limits that would be raised. */
export function previewOf(preview: PlanPreview, saveHit: Child): Child {
  const { hit, hitQuotas, refused, refusedQuotas, unsaid } = preview
  const shown = limitedIn(preview)
  return html`
    <p class=${`banner ${hitQuotas > 0 ? '' : 'good'}`} role="status">${summaryOf(preview)}</p>
    ${
      hit.length > 0 &&
      html`
        ${tableOf('Quotas that would have been refused', hitQuotas, hitColumns(shown), hit)}
        ${saveHit}
      `
    }
    ${refused.length > 0 && tableOf('Quotas that were refused by the limits that would be raised', refusedQuotas, refusedColumns(shown), refused)}
    <details>
      <summary>What these numbers can’t tell</summary>
      <ul>
        ${unsaid.map((each) => html`<li>${each}</li>`)}
      </ul>
    </details>
  `
}

function summaryOf(preview: PlanPreview): string {
  const { hitQuotas, quotas, hitDays, days, hitNow, bound, refused, refusedQuotas } = preview
  const least = bound === 'lower' ? 'At least ' : ''
  const hit = `${least}${count(hitQuotas)} of ${count(quotas)} quotas would have been refused, on ${count(hitDays)} of ${count(days)} days${hitQuotas > 0 ? `; ${count(hitNow)} of them right now` : ''}.`
  if (refusedQuotas === 0) return hit
  const onDays = refused.reduce((sum, { daysRefused }) => sum + daysRefused.length, 0)
  return `${hit} ${count(refusedQuotas)} that were refused on ${count(onDays)} days would have had more room.`
}

/** A table of the first of some quotas. */
function tableOf<Row extends Quota>(
  title: string,
  all: number,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Child {
  const caption = all > rows.length ? `${title}: ${count(rows.length)} of ${count(all)}` : title
  return table(caption, columns, rows, ({ quota }) => quota, 'tall')
}

type Quota = HitQuota | RefusedQuota

/** The most that a quota has used of a window. */
function peakOf(quota: Quota, { name }: PageWindow): number {
  const peaks: Readonly<Record<string, unknown>> = quota
  const peak = peaks[`peak${capital(name)}`]
  return typeof peak === 'number' ? peak : 0
}

/** The windows that are limited now or then. */
function limitedIn({ now, then }: PlanPreview): readonly PageWindow[] {
  return windowsWhere((window) =>
    [now, then].some((limits) => limits && limits !== 'custom' && isLimited(limits, window)),
  )
}

function ofBoth(shown: readonly PageWindow[]): readonly Column<Quota>[] {
  return [
    quotaColumn,
    ...shown.map((window) =>
      numeric(`Highest ${window.name}`, (row: Quota) => count(peakOf(row, window))),
    ),
  ]
}

const hitColumns = (shown: readonly PageWindow[]): readonly Column<HitQuota>[] => [
  ...ofBoth(shown),
  column(
    'Days',
    ({ days, daysHit }) => html`
      ${count(daysHit.length)} of ${count(days)}
      <div class="quiet">${daysHit.slice(-3).join(', ')}${daysHit.length > 3 ? ', …' : ''}</div>
    `,
  ),
  column('Right now', ({ refusedNow }) => (refusedNow ? 'refused' : '')),
]

const refusedColumns = (shown: readonly PageWindow[]): readonly Column<RefusedQuota>[] => [
  ...ofBoth(shown),
  numeric('Refused on', ({ daysRefused }) => `${count(daysRefused.length)} days`),
  ...shown.map((window) =>
    numeric<RefusedQuota>(`By the ${window.name}`, ({ refused }) =>
      count(countIn(refused, window)),
    ),
  ),
]
