import { query, type Session } from '../api.ts'
import { useData } from '../data.ts'
import { gatewayNowMs } from '../../../../front/http/page/gateway-time.ts'
import { count, plural } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  isLimited,
  limitsText,
  limitText,
  windowsWhere,
} from '../../../../front/http/page/windows.ts'
import { aged, numeric, page, table, type Column } from '../page-parts.ts'
import { plansIn, type Plan } from '../settings.ts'
import type { PlanToday } from '../../../foresight/plans-today.ts'
import type { LedgerLine } from '../../../ledger/lines.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import { NewPlan } from './new-plan.ts'

/** The plans in force, as the file has them, with their keys and months. */
export function Plans({ session }: { session: Session }) {
  const config = useData<RunningConfig>('/admin/config', 30_000)
  const today = useData<readonly PlanToday[]>('/admin/plans', 30_000)
  const [from, month] = latestMonths()
  const months = useData<readonly LedgerLine[]>(`/admin/ledger${query({ by: 'plan', from })}`)
  const ofToday = (name: string, figure: 'keys' | 'near' | 'refusedToday') =>
    today.data?.find((plan) => plan.name === name)?.[figure]
  const ofMonth = (name: string, isLast: boolean) =>
    months.data
      ?.filter(({ plan, day }) => plan === name && day < month === isLast)
      .reduce((sum, { requests }) => sum + requests, 0)
  return page(
    'Plans',
    'tollgate plans list',
    null,
    aged(today, (plans) =>
      plans
        .filter(({ limits }) => limits === null)
        .map(
          ({ name, keys }) =>
            html`<p class="banner bad">
              The configuration has no plan ${name}: 403 for ${plural(keys, 'key')}.
            </p>`,
        ),
    ),
    aged(config, ({ config: settings }) => {
      const plans = plansIn(settings)
      return html`
        ${table(
          'The plans in force',
          [
            {
              name: 'Plan',
              cell: ({ name }: Plan) =>
                html`<a href=${`#/plans/${encodeURIComponent(name)}`}>${name}</a>`,
            },
            ...limitColumns(plans),
            ...operationColumn(plans),
            figure('Keys', (name) => ofToday(name, 'keys')),
            figure('Near a limit today', (name) => ofToday(name, 'near')),
            figure('Refused today', (name) => ofToday(name, 'refusedToday')),
            figure('This month', (name) => ofMonth(name, false)),
            figure('Last month', (name) => ofMonth(name, true)),
            { name: 'Bans', cell: ({ bans }: Plan) => bans },
          ],
          plans,
          ({ name }) => name,
        )}
        <p class="quiet">
          Near a limit: quotas that reached 80 % of one. Months: admitted requests. A plan’s page
          shows whom other limits would refuse, and changes them.
        </p>
        <${NewPlan} plans=${plans} session=${session} />
      `
    }),
    aged(months, () => null),
  )
}

/** The first days of the last month and of this one. */
function latestMonths(): [last: string, present: string] {
  const day = new Date(gatewayNowMs())
  day.setUTCDate(1)
  const present = day.toISOString().slice(0, 10)
  day.setUTCMonth(day.getUTCMonth() - 1)
  return [day.toISOString().slice(0, 10), present]
}

function figure(name: string, of: (plan: string) => number | undefined): Column<Plan> {
  return numeric(name, ({ name: plan }) => {
    const number = of(plan)
    return number === undefined ? '–' : count(number)
  })
}

function limitColumns(plans: readonly Plan[]): readonly Column<Plan>[] {
  const shown = windowsWhere((window) =>
    plans.some(({ limits }) => limits !== 'custom' && isLimited(limits, window)),
  )
  return shown.map(({ limit, heading }) =>
    numeric(heading, ({ limits }) =>
      limits === 'custom' ? 'set\u00a0per\u00a0key' : wide(limitText(limits[limit])),
    ),
  )
}

/** A text that has several words isn't broken into as many lines. */
function wide(text: string): Child {
  return text.includes(' ') ? html`<div class="short">${text}</div>` : text
}

/** The operations of plans that have some. */
function operationColumn(plans: readonly Plan[]): readonly Column<Plan>[] {
  if (plans.every(({ operations }) => operations.length === 0)) return []
  const cell = ({ operations }: Plan): Child =>
    operations.map(([name, limits]) => html`<div>${`${name}: ${limitsText(limits)}`}</div>`)
  return [{ name: 'Operations', cell }]
}
