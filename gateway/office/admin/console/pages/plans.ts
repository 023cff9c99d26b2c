import { useData } from '../data.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  isLimited,
  limitsText,
  limitText,
  windowsWhere,
} from '../../../../front/http/page/windows.ts'
import { aged, page, table, type Column } from '../page-parts.ts'
import { plansIn, type Plan } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'

/** The plans in force, as the file has them. */
export function Plans() {
  const config = useData<RunningConfig>('/admin/config')
  return page(
    'Plans',
    'tollgate config running',
    aged(
      config,
      ({ config: settings, file }) => html`
        ${table(
          'The plans in force',
          [
            {
              name: 'Plan',
              cell: ({ name }: Plan) =>
                html`<a href=${`#/plans/${encodeURIComponent(name)}`}>${name}</a>`,
            },
            ...limitColumns(plansIn(settings)),
            ...operationColumn(plansIn(settings)),
            { name: 'Bans', cell: ({ bans }: Plan) => bans },
          ],
          plansIn(settings),
          ({ name }) => name,
        )}
        <p class="quiet">
          A plan’s page shows what its callers use of it, and whom other limits would refuse. Limits
          are changed in ${file}.
        </p>
      `,
    ),
  )
}

function limitColumns(plans: readonly Plan[]): readonly Column<Plan>[] {
  const shown = windowsWhere((window) =>
    plans.some(({ limits }) => limits !== 'custom' && isLimited(limits, window)),
  )
  return shown.map(({ limit, heading }) => ({
    name: heading,
    isNumber: true,
    cell: ({ limits }) => (limits === 'custom' ? 'of each key' : limitText(limits[limit])),
  }))
}

/** The operations of plans that have some. */
function operationColumn(plans: readonly Plan[]): readonly Column<Plan>[] {
  if (plans.every(({ operations }) => operations.length === 0)) return []
  const cell = ({ operations }: Plan): Child =>
    operations.map(([name, limits]) => html`<div>${`${name}: ${limitsText(limits)}`}</div>`)
  return [{ name: 'Operations', cell }]
}
