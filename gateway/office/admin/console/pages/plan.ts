import { useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import { Demand } from '../charts/demand.ts'
import { useData } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { gatewayNowMs } from '../gateway-clock.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, page, table } from '../page-parts.ts'
import { shown } from '../settings.ts'
import type { DayOfPlan, PlanDemand } from '../../../foresight/demand.ts'
import type { ShownLimits } from '../../../foresight/views.ts'
import { PlanPreview } from './plan-preview.ts'
import { PlanShadow } from './plan-shadow.ts'

/** One plan: what its quotas use of it, and what other limits would do. */
export function PlanPage({ name, session }: { name: string; session: Session }) {
  const demand = useData<PlanDemand>(`/admin/plans/${encodeURIComponent(name)}/demand`)
  const [draft, setDraft] = useState<Partial<ShownLimits>>({})
  return page(
    `Plan ${name}`,
    `tollgate plans demand ${name} · tollgate plans preview ${name} --per-minute N`,
    aged(demand, (data) => {
      const { now, curves, byDay, quotas } = data
      if (typeof now === 'string') {
        return html`<p>Each key of this plan brings limits of its own: change them on its page.</p>
          <p><a href="#/callers">Callers</a></p>`
      }
      const change = (news: Partial<ShownLimits>): void =>
        setDraft((before) => ({ ...before, ...news }))
      return html`
        <p class="sentence">${sentenceOf(now, quotas, byDay)}</p>
        <div class="columns">
          <${Demand}
            unit="a minute"
            curve=${curves.quotas.minute}
            limit=${numberOf(now.perMinute)}
            draft=${numberOf(draft.perMinute)}
            choose=${(perMinute: number) => change({ perMinute })}
          />
          <${Demand}
            unit="a day"
            curve=${curves.quotas.day}
            limit=${numberOf(now.perDay)}
            draft=${numberOf(draft.perDay)}
            choose=${(perDay: number) => change({ perDay })}
          />
        </div>
        <${PlanPreview}
          name=${name}
          now=${now}
          draft=${draft}
          change=${change}
          reset=${() => setDraft({})}
          session=${session}
        />
        <${PlanShadow} name=${name} session=${session} />
        ${daysOf(byDay)}
      `
    }),
  )
}

function numberOf(limit: ShownLimits['perMinute'] | undefined): number | undefined {
  return typeof limit === 'number' ? limit : undefined
}

function sentenceOf(now: ShownLimits, quotas: number, byDay: readonly DayOfPlan[]): string {
  const limits = `${shown(now.perMinute)} a minute, ${shown(now.perDay)} a day.`
  if (quotas === 0) return `${limits} No key of this plan was used in 14 days.`
  const today = byDay.find(({ on }) => on === new Date(gatewayNowMs()).toISOString().slice(0, 10))
  const near = today ? Math.max(today.minute.near, today.day.near) : 0
  const used = `${count(quotas)} ${quotas === 1 ? 'quota was' : 'quotas were'} used in 14 days`
  return `${limits} ${used}; today ${count(near)} came near a limit.`
}

function daysOf(byDay: readonly DayOfPlan[]): Child {
  if (byDay.length === 0) return null
  return html`
    <details>
      <summary>The last 14 days as a table</summary>
      ${table(
        'Highest use of the quotas by day, in UTC: half of them, nine of ten, the most',
        [
          { name: 'Day', cell: ({ on }: DayOfPlan) => on },
          { name: 'Quotas', isNumber: true, cell: ({ minute }: DayOfPlan) => count(minute.quotas) },
          ...(['minute', 'day'] as const).flatMap((window) => [
            {
              name: `A ${window}: half, 90 %, most`,
              isNumber: true,
              cell: (row: DayOfPlan) =>
                [row[window].median, row[window].p90, row[window].highest].map(count).join(', '),
            },
            {
              name: 'near, refused',
              isNumber: true,
              cell: (row: DayOfPlan) => `${count(row[window].near)}, ${count(row[window].refused)}`,
            },
          ]),
        ],
        [...byDay].reverse(),
        ({ on }) => on,
      )}
    </details>
  `
}
