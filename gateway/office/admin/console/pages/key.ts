import { useData } from '../data.ts'
import { bar } from '../../../../front/http/page/bar.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { partBars } from '../../../../front/http/page/parts.ts'
import { windowsWhere } from '../../../../front/http/page/windows.ts'
import { query, type Session } from '../api.ts'
import { aged, page } from '../page-parts.ts'
import type { CallsView } from '../../../../front/counts/deprecated-calls.ts'
import type { Usage } from '../../../../front/counts/usage.ts'
import type { KeyTimeline } from '../../../operations/keys/timeline.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'
import { Actions } from './key-actions.ts'
import { deprecatedOf, factsOf, Sharing } from './key-facts.ts'
import { Lines, usageOf } from './key-history.ts'

/** One key: how it stands, why it was refused, and what can be done. */
export function Key({ id, session }: { id: string; session: Session }) {
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
    aged(
      timeline,
      ({ sentence }) => html`
        <p class="sentence">${sentence}</p>
        <p><${CopyButton} text=${sentence} label="Copy answer" /></p>
      `,
    ),
    aged(
      key,
      (details) => html`
        ${windowsOf(details)}
        <${Actions} details=${details} session=${session} done=${again} />
        ${factsOf(details)}
        ${details.account !== undefined && !details.test && html`<${Sharing} account=${details.account} id=${id} />`}
      `,
    ),
    html`<h2>What happened</h2>`,
    aged(timeline, ({ lines }) => html`<${Lines} lines=${lines} />`),
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
    </div>
    ${partBars(standing)}`
}
