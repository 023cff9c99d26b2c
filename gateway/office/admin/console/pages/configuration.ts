import { ActionButton } from '../action-button.ts'
import { ask, type Session } from '../api.ts'
import { useData } from '../data.ts'
import type { KeptDraft } from '../editor/draft.ts'
import { Editor } from '../editor/editor.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, page, table, time, withMore } from '../page-parts.ts'
import type { FleetView } from '../../../fleet/view.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'

/** The configuration in force on each gateway, the mistakes of its file, and an editor. */
export function Configuration({ session, draft }: { session: Session; draft: KeptDraft }) {
  const config = useData<RunningConfig>('/admin/config', 5_000)
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
          session.role === 'all' &&
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
    config.data &&
      html`<${Editor}
        session=${session}
        config=${config.data}
        draft=${draft}
        reload=${config.reload}
      />`,
    aged(fleet, gatewaysOf),
  )
}

function gatewaysOf({ summary, gateways, differSinceAt }: FleetView): Child {
  return html`
    <h2>Gateways</h2>
    <p class=${differSinceAt === null ? '' : 'banner bad'} role="status">${summary}</p>
    ${table(
      'All gateways of this store',
      [
        { name: 'Name', cell: ({ name }: FleetView['gateways'][number]) => name },
        { name: 'Version', cell: ({ version }: FleetView['gateways'][number]) => version },
        { name: 'Since', cell: ({ startedAt }: FleetView['gateways'][number]) => time(startedAt) },
        {
          name: 'Configuration',
          cell: ({ config }: FleetView['gateways'][number]) =>
            config ? html`<code>${config.hash}</code>` : 'its own',
        },
        {
          name: 'In force since',
          cell: ({ config }: FleetView['gateways'][number]) => time(config?.sinceAt),
        },
        {
          name: 'Refuses its file',
          cell: ({ config }: FleetView['gateways'][number]) => config?.refuses ?? '',
        },
        { name: 'Address', cell: ({ address }: FleetView['gateways'][number]) => address ?? '' },
      ],
      gateways,
      ({ id }) => id,
    )}
  `
}
