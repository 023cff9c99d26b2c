import { ActionButton } from '../action-button.ts'
import { ask, type Session } from '../api.ts'
import { useData } from '../data.ts'
import type { KeptDraft } from '../editor/draft.ts'
import { Editor } from '../editor/editor.ts'
import { html, type Child } from '../html.ts'
import { aged, page, table, time } from '../page-parts.ts'
import type { ConfigInForce, Fleet } from '../answers/configuration.ts'

/** The configuration in force on each gateway, the mistakes of its file, and an editor. */
export function Configuration({ session, draft }: { session: Session; draft: KeptDraft }) {
  const config = useData<ConfigInForce>('/admin/config', 5_000)
  const fleet = useData<Fleet>('/admin/gateways', 2_000)
  const reload = async (): Promise<void> => {
    await ask('POST', '/admin/config/reload')
    config.reload()
  }
  return page(
    'Configuration',
    'tollgate config running · tollgate gateways · tollgate config save FILE --over HASH',
    aged(
      config,
      ({ file, hash, loadedAt, mistakes, warnings }) => html`
        <p>
          This gateway goes by <code>${file}</code> (<code>${hash}</code>) since ${time(loadedAt)}.
        </p>
        ${
          mistakes.length > 0 &&
          html` <div class="banner bad" role="alert">
            <p>The file as it is now is refused, and the one before stays in force:</p>
            <ul>
              ${mistakes.map((mistake) => html`<li><code>${mistake}</code></li>`)}
            </ul>
          </div>`
        }
        ${warnings.map((warning) => html`<p class="banner"><code>${warning}</code></p>`)}
        ${
          session.role === 'all' &&
          html` <div class="tools">
            <${ActionButton}
              label="Read the file again"
              consequence=${`This gateway reads ${file} now. A file with mistakes changes nothing.`}
              act=${reload}
            />
          </div>`
        }
      `,
    ),
    aged(fleet, gatewaysOf),
    config.data &&
      html`<${Editor}
        session=${session}
        config=${config.data}
        draft=${draft}
        reload=${config.reload}
      />`,
  )
}

function gatewaysOf({ summary, gateways, differSinceAt }: Fleet): Child {
  return html`
    <h2>Gateways</h2>
    <p class=${differSinceAt === null ? '' : 'banner bad'} role="status">${summary}</p>
    ${table(
      'All gateways of this store',
      [
        { name: 'Name', cell: ({ name }: Fleet['gateways'][number]) => name },
        { name: 'Version', cell: ({ version }: Fleet['gateways'][number]) => version },
        { name: 'Since', cell: ({ startedAt }: Fleet['gateways'][number]) => time(startedAt) },
        {
          name: 'Configuration',
          cell: ({ config }: Fleet['gateways'][number]) =>
            config ? html`<code>${config.hash}</code>` : 'its own',
        },
        {
          name: 'In force since',
          cell: ({ config }: Fleet['gateways'][number]) => time(config?.sinceAt),
        },
        {
          name: 'Refuses its file',
          cell: ({ config }: Fleet['gateways'][number]) => config?.refuses ?? '',
        },
        { name: 'Address', cell: ({ address }: Fleet['gateways'][number]) => address ?? '' },
      ],
      gateways,
      ({ id }) => id,
    )}
  `
}
