import { DayBars, sum, type Day } from '../../../../front/http/page/days.ts'
import { useData, useConfig } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { gatewayNowMs } from '../../../../front/http/page/utc.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  aged,
  column,
  emptyPage,
  FirstRows,
  keyLink,
  numeric,
  page,
  time,
  toConfiguration,
  type Column,
} from '../page-parts.ts'
import { SaveCsv } from '../action-button.ts'
import type { CallsOfDay, CallsView } from '../../../../front/counts/deprecated-calls.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'

/** A deprecated operation's settings, as the configuration shows them. */
type Deprecation = RunningConfig['config']['deprecations'][number]

/** Each deprecated operation: its way to the sunset, its calls, and the keys that still call it. */
export function Deprecations() {
  const config = useConfig()
  const calls = useData<readonly CallsView[]>('/admin/deprecations')
  const days = useData<readonly CallsOfDay[]>('/admin/deprecations/days')
  return page(
    'Deprecations',
    'tollgate deprecations report --csv',
    null,
    aged(config, ({ config: settings }) => {
      const all = settings.deprecations
      if (all.length === 0) return nothingYet()
      return html`
        ${aged(calls, saveAll)}
        ${all.map((deprecation) => {
          const { operation } = deprecation
          return html`
            <section class="card" key=${operation}>
              <h2><code>${operation}</code></h2>
              <p>${sentenceOf(deprecation, gatewayNowMs())}</p>
              ${extensionsOf(deprecation)}
              ${aged(days, (each) => callsByDay(each.filter((day) => day.operation === operation)))}
              ${aged(calls, (each) => callersOf(each.filter((row) => row.operation === operation)))}
            </section>
          `
        })}
      `
    }),
  )
}

/** The way to the sunset in a sentence. */
function sentenceOf(
  { since, sunset, brownouts, replacement, afterSunset }: Deprecation,
  nowMs: number,
): string {
  const next = brownouts.find(({ to }) => Date.parse(to) > nowMs)
  const brownout = next ? ` The next brownout is from ${next.from} to ${next.to}.` : ''
  const instead = replacement === undefined ? '' : ` Callers are sent to ${replacement}.`
  if (sunset === undefined) return `Deprecated since ${since}, without a sunset.${instead}`
  const isOver = Date.parse(sunset) <= nowMs
  const gone = isOver ? `has returned 410 since ${sunset}` : `returns 410 from ${sunset}`
  const end = afterSunset === 'gone' ? gone : `is still served after its sunset on ${sunset}`
  return `Deprecated since ${since}; ${end}.${brownout}${instead}`
}

function saveAll(calls: readonly CallsView[]): Child {
  if (calls.length === 0) return null
  return html`<${SaveCsv}
    label="Save all callers as CSV"
    file="deprecated-calls.csv"
    method="GET"
    path="/admin/deprecations"
  />`
}

function nothingYet(): Child {
  return emptyPage(
    'Nothing is deprecated',
    html`
      <p>
        To tell callers that an operation will be removed, name it in the configuration. Every
        answer of it then says so, and this page lists who still calls it:
      </p>
      <pre tabindex="0">
deprecations:
  - operation: GET /v1/pets/{petId}
    since: 2026-12-01
    sunset: 2027-06-01
    replacement: /v1/pets?status=available</pre>
    `,
    toConfiguration(),
  )
}

const callParts = [{ name: 'answered', label: 'calls' }]

function callsByDay(days: readonly CallsOfDay[]): Child {
  if (days.length === 0) return null
  const rows: readonly Day[] = days.map(({ day, calls }) => ({ day, counts: [calls] }))
  const all = sum(days.map(({ calls }) => calls))
  return html`<${DayBars}
    title="Calls by day, in UTC"
    summary=${`${count(all)} calls in 90 days, on ${count(days.length)} days.`}
    parts=${callParts}
    days=${rows}
    span=${30}
  />`
}

function callersOf(rows: readonly CallsView[]): Child {
  if (rows.length === 0) return html`<p class="quiet">Nobody has called it in the last 90 days.</p>`
  return html`<${FirstRows}
    caption="Keys that called it in the last 90 days, most calls first"
    columns=${callerColumns}
    rows=${rows}
    keyOf=${({ key }: CallsView) => key}
  />`
}

const callerColumns: readonly Column<CallsView>[] = [
  column('Key', ({ key, name }) => keyLink(key, name || key)),
  numeric('Calls', ({ calls }) => count(calls)),
  column('Last', ({ last }) => time(last)),
  column('Sunset', ownSunset),
]

function ownSunset({ sunset, extension, needsExtension }: CallsView): Child {
  if (extension) return html`${time(sunset)} <span class="state active">extended</span>`
  if (needsExtension) return html`${time(sunset)} <span class="state banned">not extended</span>`
  return time(sunset, 'none')
}

function extensionsOf({ extensions }: Deprecation): Child {
  if (extensions.length === 0) return null
  return html`
    <p>
      ${'Later sunset for '}
      ${extensions.map(
        (extension, i) => html`
          ${i > 0 ? ', ' : ''}${
            'account' in extension
              ? `the account ${extension.account}`
              : keyLink(extension.key, extension.key)
          }
          ${` until ${extension.until}${extension.spare ? ' (exempt from brownouts)' : ''}`}
        `,
      )}.
    </p>
  `
}
