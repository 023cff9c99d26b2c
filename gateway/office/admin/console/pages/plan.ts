import { useState } from 'preact/hooks'
import { Demand } from '../charts/demand.ts'
import { useData } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { gatewayNowMs } from '../../../../front/http/page/utc.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  isLimited,
  limitsText,
  windows,
  windowsWhere,
  type ByWindow,
  type PageWindow,
} from '../../../../front/http/page/windows.ts'
import { includedIn } from '../written-limit.ts'
import { aged, column, numeric, page, table, type Column } from '../page-parts.ts'
import type { Curve, DayOfPlan, Distribution, PlanDemand } from '../../../foresight/demand.ts'
import type { ShownLimits } from '../../../foresight/views.ts'
import { PlanParts } from './plan-parts.ts'
import { PlanPreview, type ChangeLimit } from './plan-preview.ts'
import { PlanShadow } from './plan-shadow.ts'

/** One plan: what its quotas use of it, and what other limits would do. */
export function PlanPage({ id: name }: { id: string }) {
  const demand = useData<PlanDemand>(`/admin/plans/${encodeURIComponent(name)}/demand`)
  const [draft, setDraft] = useState<Partial<ShownLimits>>({})
  return page(
    `Plan ${name}`,
    `tollgate plans demand ${name} · tollgate plans preview ${name} --per-minute N`,
    null,
    aged(demand, (data) => {
      const { now, curves, byDay, quotas } = data
      if (typeof now === 'string') {
        return html`<p>
            The limits of this plan are set per key: change them on the page of the key.
          </p>
          <p><a href="#/keys">Keys</a></p>
          <${PlanParts} name=${name} />`
      }
      const change: ChangeLimit = ({ limit }, value) =>
        setDraft((before) => ({ ...before, [limit]: value }))
      const shown = windowsWhere((window) => isLimited({ ...now, ...draft }, window))
      return html`
        <p class="sentence">${sentenceOf(now, quotas, byDay)}</p>
        <div class="columns">
          ${shown.map((window) => {
            const ofWindows: ByWindow<Curve> = curves.quotas
            const curve = ofWindows[window.name]
            return (
              curve &&
              html`<${Demand}
                key=${window.name}
                unit=${window.each}
                curve=${curve}
                limit=${includedIn(now, window)}
                draft=${includedIn(draft, window)}
                choose=${(points: number) => {
                  // What is metered stays so.
                  const { [window.limit]: limit } = { ...now, ...draft }
                  change(window, typeof limit === 'object' ? { ...limit, limit: points } : points)
                }}
              />`
            )
          })}
        </div>
        <${PlanPreview}
          name=${name}
          now=${now}
          draft=${draft}
          change=${change}
          reset=${() => setDraft({})}
        />
        <${PlanParts} name=${name} />
        <${PlanShadow} name=${name} />
        ${daysOf(byDay, shown)}
      `
    }),
  )
}

function sentenceOf(now: ShownLimits, quotas: number, byDay: readonly DayOfPlan[]): string {
  const limits = `${limitsText(now)}.`
  if (quotas === 0) return `${limits} No key of this plan was used in 14 days.`
  const today = byDay.find(({ on }) => on === new Date(gatewayNowMs()).toISOString().slice(0, 10))
  const near = today ? most(windows.map((window) => peaksOf(today, window)?.near)) : 0
  const used = `${count(quotas)} ${quotas === 1 ? 'quota was' : 'quotas were'} used in 14 days`
  return `${limits} ${used}; today ${count(near)} came near a limit.`
}

function peaksOf(day: DayOfPlan, { name }: PageWindow): Distribution | undefined {
  const ofWindows: ByWindow<Distribution> = day
  return ofWindows[name]
}

function most(numbers: readonly (number | undefined)[]): number {
  return Math.max(0, ...numbers.map((number = 0) => number))
}

function daysOf(byDay: readonly DayOfPlan[], shown: readonly PageWindow[]): Child {
  if (byDay.length === 0) return null
  return html`
    <details>
      <summary>The last 14 days as a table</summary>
      ${table<DayOfPlan>(
        'Highest use of the quotas by day, in UTC: p50, p90 and the most',
        [
          column('Day', ({ on }) => on),
          numeric('Quotas', (row) =>
            count(most(shown.map((window) => peaksOf(row, window)?.quotas))),
          ),
          ...shown.flatMap((window) => [
            figures(`${window.heading}: p50, p90, most`, window, ['median', 'p90', 'highest']),
            figures('near, refused', window, ['near', 'refused']),
          ]),
        ],
        [...byDay].reverse(),
        ({ on }) => on,
      )}
    </details>
  `
}

/** Figures of a window, with commas between. */
function figures(
  name: string,
  window: PageWindow,
  shown: readonly (keyof Distribution)[],
): Column<DayOfPlan> {
  return numeric(name, (row) => {
    const peaks = peaksOf(row, window)
    return peaks ? shown.map((each) => count(peaks[each])).join(', ') : '–'
  })
}
