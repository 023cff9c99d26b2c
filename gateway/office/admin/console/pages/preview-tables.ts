import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { table } from '../page-parts.ts'
import type { HitQuota, PlanPreview, RefusedQuota } from '../../../foresight/preview.ts'

/** The quotas that other limits would have refused, and those that were refused by limits that would be raised. */
export function previewOf(preview: PlanPreview, saveHit: Child): Child {
  const { hit, hitQuotas, refused, refusedQuotas, unsaid } = preview
  return html`
    <p class=${`banner ${hitQuotas > 0 ? '' : 'good'}`} role="status">${summaryOf(preview)}</p>
    ${
      hit.length > 0 &&
      html`
        ${table(listed('Quotas that would have been refused', hit.length, hitQuotas), hitColumns, hit, keyOf, true)}
        ${saveHit}
      `
    }
    ${
      refused.length > 0 &&
      table(
        listed(
          'Quotas that were refused by the limits that would be raised',
          refused.length,
          refusedQuotas,
        ),
        refusedColumns,
        refused,
        keyOf,
        true,
      )
    }
    <details>
      <summary>What these numbers can’t tell</summary>
      <ul>
        ${unsaid.map((each) => html`<li>${each}</li>`)}
      </ul>
    </details>
  `
}

function summaryOf({
  hitQuotas,
  quotas,
  hitDays,
  days,
  hitNow,
  bound,
  refused,
  refusedQuotas,
}: PlanPreview): string {
  const least = bound === 'lower' ? 'At least ' : ''
  const hit = `${least}${count(hitQuotas)} of ${count(quotas)} quotas would have been refused, on ${count(hitDays)} of ${count(days)} days${hitQuotas > 0 ? `; ${count(hitNow)} of them right now` : ''}.`
  if (refusedQuotas === 0) return hit
  const onDays = refused.reduce((sum, { daysRefused }) => sum + daysRefused.length, 0)
  return `${hit} ${count(refusedQuotas)} that were refused on ${count(onDays)} days would have had more room.`
}

function listed(title: string, some: number, all: number): string {
  return all > some ? `${title}: ${count(some)} of ${count(all)}` : title
}

function keyOf({ quota }: HitQuota | RefusedQuota): string {
  return quota
}

const ofBoth = [
  {
    name: 'Key',
    cell: ({ key, name, account }: HitQuota | RefusedQuota) => html`
      <a href=${`#/callers/${key}`}>${name}</a>
      ${account !== null && account !== undefined && html`<div class="quiet">account ${account}</div>`}
    `,
  },
  {
    name: 'Highest minute',
    isNumber: true,
    cell: ({ peakMinute }: HitQuota | RefusedQuota) => count(peakMinute),
  },
  {
    name: 'Highest day',
    isNumber: true,
    cell: ({ peakDay }: HitQuota | RefusedQuota) => count(peakDay),
  },
]

const hitColumns = [
  ...ofBoth,
  {
    name: 'Days',
    cell: ({ days, daysHit }: HitQuota) => html`
      ${count(daysHit.length)} of ${count(days)}
      <div class="quiet">${daysHit.slice(-3).join(', ')}${daysHit.length > 3 ? ', …' : ''}</div>
    `,
  },
  { name: 'Right now', cell: ({ refusedNow }: HitQuota) => (refusedNow ? 'refused' : '') },
]

const refusedColumns = [
  ...ofBoth,
  {
    name: 'Refused on',
    isNumber: true,
    cell: ({ daysRefused }: RefusedQuota) => `${count(daysRefused.length)} days`,
  },
  {
    name: 'By minute, by day',
    isNumber: true,
    cell: ({ refused }: RefusedQuota) => `${count(refused.minute)}, ${count(refused.day)}`,
  },
]
