import { query } from '../api.ts'
import { useData, useMayAll } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  countIn,
  isLimited,
  limitsText,
  windowsWhere,
} from '../../../../front/http/page/windows.ts'
import { aged, column, numeric, quotaColumn, table, time } from '../page-parts.ts'
import type { ShadowReport, ShadowedKey } from '../../../foresight/shadows.ts'
import { EditButton } from './edit.ts'

/** The shadow limits of a plan that has some, and the requests that they would have refused. */
export function PlanShadow({ name }: { name: string }) {
  const mayAll = useMayAll()
  const report = useData<ShadowReport>(`/admin/shadow${query({ plan: name })}`, 5_000)
  return aged(report, ({ shadows, keys }) => {
    const [own] = shadows
    if (!own) return null
    return html`
      <section class="card">
        <h2>Shadow limits</h2>
        <p>
          ${`${limitsText(own.shadow)}.`} Nobody is refused by them: they count what they would have
          refused, of requests that were admitted.
        </p>
        ${keysOf(keys, own.shadow)}
        ${
          mayAll &&
          html`<${EditButton}
            label="Remove shadow"
            set=${{ [`plans.${name}.shadow`]: null }}
            watch=${`#/now/${encodeURIComponent(name)}`}
          />`
        }
      </section>
    `
  })
}

function keysOf(
  keys: readonly ShadowedKey[],
  shadow: ShadowReport['shadows'][number]['shadow'],
): Child {
  if (keys.length === 0)
    return html`<p class="banner good">They would have refused nothing in 14 days.</p>`
  return table<ShadowedKey>(
    'Requests that they would have refused in 14 days',
    [
      quotaColumn,
      ...windowsWhere((window) => isLimited(shadow, window)).map((window) =>
        numeric<ShadowedKey>(`By the ${window.name}`, ({ refused }) =>
          count(countIn(refused, window)),
        ),
      ),
      numeric('Of', ({ of }) => count(of)),
      column('First', ({ first }) => first),
      column('Last', ({ last }) => time(last)),
    ],
    keys,
    ({ key }) => key,
    'tall',
  )
}
