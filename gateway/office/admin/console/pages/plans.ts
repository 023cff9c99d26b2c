import { useData } from '../data.ts'
import { html } from '../../../../front/http/page/html.ts'
import { aged, page, table } from '../page-parts.ts'
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
            { name: 'A minute', isNumber: true, cell: ({ perMinute }: Plan) => perMinute },
            { name: 'A day', isNumber: true, cell: ({ perDay }: Plan) => perDay },
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
