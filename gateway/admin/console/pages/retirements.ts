import { useData } from '../data.ts'
import { count } from '../format.ts'
import { html } from '../html.ts'
import { aged, page, table, time } from '../parts.ts'
import type { DeprecatedCalls } from '../views.ts'

/** The keys that still call deprecated operations. */
export function Retirements() {
  const calls = useData<readonly DeprecatedCalls[]>('/admin/deprecations')
  return page(
    'Retirements',
    'tollgate deprecations report --csv',
    aged(calls, (all) => {
      if (all.length === 0)
        return html`<p class="quiet">In 90 days nobody called a deprecated operation.</p>`
      const byOperation = new Map<string, DeprecatedCalls[]>()
      for (const each of all)
        byOperation.set(each.operation, [...(byOperation.get(each.operation) ?? []), each])
      return [...byOperation].map(
        ([operation, rows]) => html`
          <h2><code>${operation}</code></h2>
          ${table(
            `Keys that still call it: ${count(rows.length)}`,
            [
              {
                name: 'Key',
                cell: ({ key, name }: DeprecatedCalls) =>
                  html`<a href=${`#/callers/${key}`}>${name || key}</a>`,
              },
              {
                name: 'Calls in 90 days',
                isNumber: true,
                cell: ({ calls: times }: DeprecatedCalls) => count(times),
              },
              { name: 'Last', cell: ({ last }: DeprecatedCalls) => time(last) },
            ],
            rows,
            ({ key }) => key,
          )}
        `,
      )
    }),
  )
}
