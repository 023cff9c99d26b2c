import { useData } from '../data.ts'
import { html } from '../../../../front/http/page/html.ts'
import { requestsText } from '../../../../front/http/page/parts.ts'
import { limitsText } from '../../../../front/http/page/windows.ts'
import { aged, table } from '../page-parts.ts'
import { plansIn, type Plan } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'

type Operation = Plan['operations'][number]

/** The requests of a plan that have limits of their own, if it has some. */
export function PlanOperations({ name }: { name: string }) {
  const config = useData<RunningConfig>('/admin/config')
  return aged(config, ({ config: settings }) => {
    const operations = plansIn(settings).find((plan) => plan.name === name)?.operations ?? []
    if (operations.length === 0) return null
    return html`
      <section class="card">
        <h2>Operations</h2>
        ${table(
          'Requests with limits of their own beside those of the plan',
          [
            { name: 'Operation', cell: ([operation]: Operation) => operation },
            {
              name: 'Requests',
              cell: ([, requests]: Operation) => html`<code>${requestsText(requests)}</code>`,
            },
            { name: 'Limits', cell: ([, limits]: Operation) => limitsText(limits) },
          ],
          operations,
          ([operation]) => operation,
        )}
      </section>
    `
  })
}
