import { useData } from '../data.ts'
import { bar, partBars, placesBar } from '../../../../front/http/page/bars.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { windowsWhere, limitsText, windows } from '../../../../front/http/page/windows.ts'
import { query } from '../api.ts'
import { accountLink, aged, column, page, facts, numeric, table, time } from '../page-parts.ts'
import type { CallsView } from '../../../../front/counts/deprecated-calls.ts'
import type { Usage } from '../../../../front/counts/usage.ts'
import type { KeyTimeline } from '../../../operations/keys/timeline.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'
import { Actions } from './key-actions.ts'
import { linesOf, usageOf } from './key-history.ts'
import { count } from '../../../../front/http/page/format.ts'

/** One key: how it stands, why it was refused, and what can be done. */
export function Key({ id }: { id: string }) {
  const path = `/admin/keys/${encodeURIComponent(id)}`
  const key = useData<KeyDetails>(path, 5_000)
  const timeline = useData<KeyTimeline>(`${path}/timeline`, 5_000)
  const usage = useData<readonly Usage[]>(`/admin/usage/${encodeURIComponent(id)}`)
  const deprecated = useData<readonly CallsView[]>(`/admin/deprecations${query({ key: id })}`)
  const again = (): void => {
    key.reload()
    timeline.reload()
  }
  return page(
    key.data?.name ?? 'Key',
    `tollgate explain ${id}`,
    key.data && html`<${Actions} details=${key.data} done=${again} />`,
    html`
      <div class="pair">
        <div>
          ${aged(
            timeline,
            ({ sentence }) => html`
              <p class="sentence">${sentence}</p>
              <p><${CopyButton} text=${sentence} label="Copy answer" /></p>
            `,
          )}
          ${aged(key, windowsOf)}
          <h2>What happened</h2>
          ${aged(timeline, ({ lines }) => linesOf(lines))}
        </div>
        ${aged(key, factsOf)}
      </div>
    `,
    html`<h2>Usage</h2>`,
    aged(usage, usageOf),
    aged(deprecated, deprecatedOf),
  )
}

function windowsOf({ standing }: KeyDetails): Child {
  if (!standing.offered)
    return html`<p class="banner bad">
      The configuration has no limits for its plan: it gets 403.
    </p>`
  const shown = windowsWhere(({ name }) => Boolean(standing[name]))
  return html`<div class="bars">
      ${shown.map(({ name, present }) => bar(present, standing[name] ?? null))}
      ${placesBar('In flight', standing.atOnce)}
    </div>
    ${partBars(standing)}`
}

/** The settings of a key, in words. */
function factsOf(key: KeyDetails): Child {
  const { account, expiresAt, oldToken, standing, limits = {}, cap = {} } = key
  const { methods, paths, addresses, scopes, origins } = key
  const only = [methods, paths, addresses, scopes, origins].flatMap((each) => each ?? [])
  return facts([
    ['Id', html`<code>${key.id}</code>`],
    ['Plan', key.plan],
    ['Account', account !== undefined && accountLink(account)],
    ['Issuer', key.issuer],
    ['Subject', key.subject],
    [
      'Test key',
      key.test && 'lets its owner simulate refusals with X-Gateway-Act; its quota is its own',
    ],
    ['Custom limits', limitsText(limits)],
    ['Cap inside its account', limitsText(cap)],
    ['Billing day', standing.monthFrom],
    [
      'Granted',
      standing.grants.length > 0 &&
        html`<ul class="plain">
          ${standing.grants.map((grant) => html`<li>${grantText(grant)}</li>`)}
        </ul>`,
    ],
    ['Restricted to', only.join(' ')],
    ['Strikes', standing.strikes > 0 ? standing.strikes : ''],
    ['Reference', key.reference],
    ['Note', key.note],
    ['Created', time(key.createdAt)],
    ['Expires', expiresAt === undefined ? 'never' : time(expiresAt)],
    ['Token last used', time(key.lastUsedAt, 'never')],
    [
      'Old token',
      oldToken &&
        html`works until ${time(oldToken.until)}; last used ${time(oldToken.lastUsedAt, 'never')}`,
    ],
  ])
}

/** The points that an operator has added to the present windows, in words. */
function grantText({ by, note, ...points }: KeyDetails['standing']['grants'][number]): string {
  const more = windows.flatMap(({ name, limit }) => {
    const granted = points[limit] ?? null
    return granted === null ? [] : [`${count(granted)} for the ${name}`]
  })
  return `${more.join(', ')}, by ${by}${note === null ? '' : `: ${note}`}`
}

/** The deprecated operations that a key still calls. */
function deprecatedOf(calls: readonly CallsView[]): Child {
  if (calls.length === 0) return null
  return html`
    <h2>Deprecated operations that it calls</h2>
    ${table<CallsView>(
      'Calls in the last 90 days',
      [
        column(
          'Operation',
          ({ operation }) => html`<a href="#/deprecations"><code>${operation}</code></a>`,
        ),
        numeric('Calls', ({ calls: times }) => count(times)),
        column('Last', ({ last }) => time(last)),
      ],
      calls,
      ({ operation }) => operation,
    )}
  `
}
