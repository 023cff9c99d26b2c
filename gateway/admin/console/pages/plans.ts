import { useData } from '../data.ts'
import { html } from '../html.ts'
import { aged, page, table } from '../parts.ts'
import type { ConfigInForce } from '../views.ts'

export type Plan = Readonly<{ name: string; perMinute: string; perDay: string; bans: string }>

/** The plans in force, as the file has them. */
export function Plans() {
  const config = useData<ConfigInForce>('/admin/config')
  return page(
    'Plans',
    'tollgate config running',
    aged(
      config,
      ({ config: settings, file }) => html`
        ${table(
          'The plans in force',
          [
            { name: 'Plan', cell: ({ name }: Plan) => name },
            { name: 'A minute', isNumber: true, cell: ({ perMinute }: Plan) => perMinute },
            { name: 'A day', isNumber: true, cell: ({ perDay }: Plan) => perDay },
            { name: 'Bans', cell: ({ bans }: Plan) => bans },
          ],
          plansIn(settings),
          ({ name }) => name,
        )}
        <p class="quiet">
          Limits are changed in ${file}: <a href="#/configuration">check a change</a> before you
          save it.
        </p>
      `,
    ),
  )
}

/** The plans of a configuration in its shown form. */
export function plansIn(settings: Readonly<Record<string, unknown>>): readonly Plan[] {
  const plans = Object.entries(membersOf(settings['plans']))
  return plans.map(([name, plan]) => {
    const { limits, perMinute, perDay, bans } = membersOf(plan)
    if (limits === 'custom')
      return { name, perMinute: 'of each key', perDay: 'of each key', bans: shown(bans) }
    return { name, perMinute: shown(perMinute), perDay: shown(perDay), bans: shown(bans) }
  })
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function shown(value: unknown): string {
  if (typeof value === 'number') return value.toLocaleString('en')
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
