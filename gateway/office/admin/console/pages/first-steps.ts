import type { Session } from '../api.ts'
import { useData } from '../data.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { KeyPage } from '../../../operations/keys/list.ts'
import { MakeKey } from './make-key.ts'

/** More keys than these were made by people who know how. */
const fewKeys = 20

/** The way to the first request, for a gateway whose keys were never used. */
export function FirstSteps({ session }: { session: Session }) {
  const keys = useData<KeyPage>(`/admin/keys?limit=${fewKeys}`, 5_000)
  const config = useData<RunningConfig>('/admin/config')
  if (!keys.data || !config.data) return null
  const { keys: some, next } = keys.data
  if (next !== null || some.some(({ lastUsedAt }) => lastUsedAt)) return null
  const line = `curl ${firstUrl(config.data.config)} -H "Authorization: Bearer TOKEN"`
  return html`
    <section class="card">
      <h2>First steps</h2>
      <ol>
        <li>
          <p>
            ${
              session.role === 'all'
                ? html`<${MakeKey} made=${keys.reload} />`
                : html`Make a key: <code>tollgate keys create</code>`
            }
            ${some.length > 0 && html` or take a token that <code>npm start</code> has printed`}
          </p>
        </li>
        <li>
          <p>Try it, with the token in place of TOKEN:</p>
          <pre tabindex="0">${line}</pre>
          <p><${CopyButton} text=${line} label="Copy" /></p>
        </li>
        <li><p>See it here, within a second.</p></li>
      </ol>
    </section>
  `
}

/** An address of the API as a program on this machine reaches it. */
function firstUrl({ listen, routes }: RunningConfig['config']): string {
  const { port, tls } = listen
  const path = routes[0]?.path ?? '/'
  // The animal store's own route leads nowhere without more.
  const first = path === '/v1/*' ? '/v1/pets' : path.replace('*', '')
  return `http${tls ? 's' : ''}://${location.hostname}:${port}${first}`
}
