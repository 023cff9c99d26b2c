import { useState } from 'preact/hooks'
import { query } from '../api.ts'
import { field, fieldText, formIn } from '../controls.ts'
import { useData, useMayAll, plansIn, useConfig, type Plan } from '../data.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'
import { gatewayNowMs } from '../../../../front/http/page/utc.ts'
import { count, plural } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  isLimited,
  limitsText,
  limitText,
  windowsWhere,
} from '../../../../front/http/page/windows.ts'
import { aged, column, numeric, page, table, type Column } from '../page-parts.ts'
import type { PlanToday } from '../../../foresight/plans-today.ts'
import type { LedgerLine } from '../../../ledger/lines.ts'
import { Edit } from './edit.ts'

/** The plans in force, as the file has them, with their keys and months. */
export function Plans() {
  const config = useConfig(30_000)
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
        ${table<Plan>(
          'The plans in force',
          [
            column(
              'Plan',
              ({ name }) => html`<a href=${`#/plans/${encodeURIComponent(name)}`}>${name}</a>`,
            ),
            ...limitColumns(plans),
            ...operationColumn(plans),
            figure('Keys', (name) => ofToday(name, 'keys')),
            figure('Near a limit today', (name) => ofToday(name, 'near')),
            figure('Refused today', (name) => ofToday(name, 'refusedToday')),
            figure('This month', (name) => ofMonth(name, false)),
            figure('Last month', (name) => ofMonth(name, true)),
            column('Bans', ({ bans }) => bans),
          ],
          plans,
          ({ name }) => name,
        )}
        <p class="quiet">
          Near a limit: quotas that reached 80 % of one. Months: admitted requests. A plan’s page
          shows whom other limits would refuse, and changes them.
        </p>
        <${NewPlan} plans=${plans} />
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
  return [column('Operations', cell)]
}

/** Another plan: the change of the file that brings it. */
function NewPlan({ plans }: Readonly<{ plans: readonly Plan[] }>) {
  const mayAll = useMayAll()
  const [made, setMade] = useState<Readonly<{ name: string; plan: unknown }>>()
  if (!mayAll) return null
  const write = (event: Event): void => {
    const form = formIn(event)
    const { plan = 'custom' } = limitsIn(form, 'plan')
    setMade({ name: fieldText(form, 'name'), plan })
  }
  const check = ({ target }: Event): void => {
    const input = target as HTMLInputElement
    const isTaken = plans.some(({ name }) => name === input.value.trim())
    input.setCustomValidity(isTaken ? 'This plan exists already: change it on its own page.' : '')
  }
  return html`
    <details class="card">
      <summary><h2>New plan</h2></summary>
      <form onSubmit=${write}>
        ${field('Name', {
          name: 'name',
          required: true,
          pattern: '\\s*[a-z][a-z0-9\\-]{0,31}\\s*',
          title: 'Lower-case letters, digits and -, starting with a letter',
          onInput: check,
        })}
        ${limitFields('plan')}
        <button>Show the change</button>
      </form>
      ${made && html`<${Edit} set=${{ [`plans.${made.name}`]: made.plan }} watch=${`#/plans/${made.name}`} />`}
    </details>
  `
}
