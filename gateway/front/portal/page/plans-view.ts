import { html, type Child } from '../../http/page/html.ts'
import { requestsText } from '../../http/page/format.ts'
import { column, heading, numeric, table, type Column } from '../../http/page/table.ts'
import type { LimitName } from '../../../../shared/windows.ts'
import {
  atOnceText,
  limitsText,
  limitText,
  meteredText,
  prepaidText,
} from '../../http/page/windows.ts'
import { allWindowsIn, beginnings, haveOperations, windowsIn } from './terms.ts'
import type { Terms } from '../terms.ts'

/** The plans in force. */
export function plansView(terms: Terms): Child {
  const { plans } = terms
  const columns: readonly Column<Plan>[] = [
    heading('Plan', ({ name }) => name),
    ...windowsIn(terms).map(({ each, limit }) =>
      numeric<Plan>(each, ({ limits, included, prepaid }) =>
        boundText(limits, included?.[limit], limit, prepaid),
      ),
    ),
    ...(plans.some(({ limits }) => limits?.atOnce !== undefined) ? [placesColumn] : []),
    ...(haveOperations(terms) ? [operationsColumn] : []),
    column('only', (plan) => requestsText(plan) || 'everything'),
  ]
  return html`
    <section aria-labelledby="plans">
      <h2 id="plans" tabindex="-1">Plans and limits</h2>
      ${table('Plans', columns, plans, ({ name }) => name, 'bare')}
      <p>${aboutLimits(terms)}</p>
    </section>
  `
}

const placesColumn = numeric<Plan>('at once', ({ limits }) =>
  limits ? atOnceText(limits.atOnce) : 'agreed',
)

const operationsColumn = column<Plan>('operations', ({ operations }) =>
  operations.map(operationText),
)

/** A limit, or what is included, and what lies beyond. */
function boundText(
  limits: Plan['limits'],
  included: number | undefined,
  name: LimitName,
  prepaid: Plan['prepaid'],
): string {
  if (!limits) return 'agreed'
  if (included === undefined) return limitText(limits[name])
  return prepaid ? prepaidText(included) : meteredText(included, limits[name])
}

type Plan = Terms['plans'][number]

/** An operation of a plan, with its requests and its limits. */
function operationText({ name, limits, ...requests }: PlanOperation): Child {
  return html`<div><b>${name}</b>${` (${requestsText(requests)}): ${limitsText(limits)}`}</div>`
}

type PlanOperation = Terms['plans'][number]['operations'][number]

function aboutLimits(terms: Terms): string {
  const operations = haveOperations(terms)
    ? 'A request that a plan lists under operations has to fit into the limits there as well. '
    : ''
  const estimates = terms.routes.some(({ atMost }) => atMost !== undefined)
    ? 'Where the answer tells what a request costs, it is admitted with an estimate, and the difference is counted once it has been answered: the next answer shows it. '
    : ''
  return (
    `Limits are in points; a request costs one, unless its operation says otherwise. ${estimates}${operations}` +
    `In UTC, ${beginnings(allWindowsIn(terms))}. Keys of one account share one quota; a key with a cap gets only a part of it. ` +
    'Reading your limits costs nothing.'
  )
}
