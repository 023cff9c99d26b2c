import { ActionButton } from '../action-button.ts'
import { ask } from '../api.ts'
import { useData, useMayAll, useConfig } from '../data.ts'
import { Editor, type KeptDraft } from '../editor/editor.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, column, page, table, time, withMore } from '../page-parts.ts'
import type { FleetView } from '../../../fleet/view.ts'

/** The configuration in force on each gateway, the mistakes of its file, and an editor. */
export function Configuration({ draft }: { draft: KeptDraft }) {
  const mayAll = useMayAll()
  const config = useConfig(5_000)
  const fleet = useData<FleetView>('/admin/gateways', 2_000)
  const reload = async (): Promise<void> => {
    await ask('POST', '/admin/config/reload')
    config.reload()
  }
  return page(
    'Configuration',
    'tollgate config running · tollgate gateways · tollgate config save FILE --over HASH',
    null,
    aged(
      config,
      ({ file, hash, loadedAt, mistakes, more, warnings, saving, unsavable }) => html`
        <p>Running <code>${file}</code> (<code>${hash}</code>) since ${time(loadedAt)}.</p>
        <p class="quiet">${unsavable ?? saving.why}.</p>
        ${
          mistakes.length > 0 &&
          html` <div class="banner bad" role="alert">
            <p>The current file is refused, and the one before stays in force:</p>
            <ul>
              ${withMore(mistakes, more).map((each) => html`<li><code>${each}</code></li>`)}
            </ul>
          </div>`
        }
        ${warnings.map((warning) => html`<p class="banner"><code>${warning}</code></p>`)}
        ${
          mayAll &&
          html` <div class="tools">
            <${ActionButton}
              label="Reload the file"
              consequence=${`This gateway reads ${file} now. A file with mistakes changes nothing.`}
              act=${reload}
            />
          </div>`
        }
      `,
    ),
    config.data && html`<${Editor} config=${config.data} draft=${draft} reload=${config.reload} />`,
    aged(fleet, gatewaysOf),
  )
}

function gatewaysOf({ summary, gateways, differSinceAt }: FleetView): Child {
  return html`
    <h2>Gateways</h2>
    <p class=${differSinceAt === null ? '' : 'banner bad'} role="status">${summary}</p>
    ${table<FleetView['gateways'][number]>(
      'All gateways of this store',
      [
        column('Name', ({ name }) => name),
        column('Version', ({ version }) => version),
        column('Since', ({ startedAt }) => time(startedAt)),
        column('Configuration', ({ config }) =>
          config ? html`<code>${config.hash}</code>` : 'its own',
        ),
        column('In force since', ({ config }) => time(config?.sinceAt)),
        column('Refuses its file', ({ config }) => config?.refuses ?? ''),
        column('Address', ({ address }) => address ?? ''),
      ],
      gateways,
      ({ id }) => id,
    )}
  `
}
