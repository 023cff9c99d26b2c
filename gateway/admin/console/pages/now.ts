import { useData } from '../data.ts'
import { html } from '../html.ts'
import { aged, page, table, time } from '../parts.ts'
import type { Ban, Ready } from '../views.ts'

/** How the gateway is, at this moment. */
export function Now() {
  const ready = useData<Ready>('/readyz', 2_000)
  const bans = useData<readonly Ban[]>('/admin/bans', 5_000)
  return page(
    'Now',
    'tollgate bans list · curl /readyz',
    aged(
      ready,
      ({ ready: isReady, store, stopping, config }) => html`
        <p class=${`banner ${isReady ? 'good' : 'bad'}`} role="status">
          ${isReady ? 'The gateway takes requests.' : stopping ? 'The gateway is stopping.' : 'The gateway doesn’t take requests.'}
        </p>
        ${store !== 'reachable' && html`<p class="banner bad" role="alert">The store is out of reach.</p>`}
        ${
          config.mistakes !== undefined &&
          html` <p class="banner bad" role="alert">
            The configuration’s file has ${config.mistakes} mistakes, and the one before stays in
            force. <a href="#/configuration">See them</a>
          </p>`
        }
      `,
    ),
    aged(bans, (all) =>
      all.length === 0
        ? html`<p class="quiet">No key is banned.</p>`
        : table(
            'Keys that are banned',
            [
              {
                name: 'Key',
                cell: ({ id, name }: Ban) => html`<a href=${`#/callers/${id}`}>${name || id}</a>`,
              },
              { name: 'Until', cell: ({ until }: Ban) => time(until) },
            ],
            all,
            ({ id }) => id,
          ),
    ),
  )
}
