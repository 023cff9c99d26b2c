import { useRef } from 'preact/hooks'
import { useData, useMayAll } from '../data.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { KeyPage } from '../../../operations/keys/list.ts'
import { MakeKey } from './make-key.ts'

/** The way to the first request, for a gateway whose keys were never used; `isQuiet`: nothing has come lately. */
export function FirstSteps({ isQuiet }: { isQuiet: boolean }) {
  const section = useRef<HTMLElement>(null)
  const mayAll = useMayAll()
  const path = (of: string): string | undefined => (isQuiet ? `/admin/${of}` : undefined)
  const keys = useData<KeyPage>(path('keys?limit=20'), 5_000)
  // A gateway that has just begun may answer 503 at first.
  const running = useData<RunningConfig>(path('config'), 5_000)
  if (!keys.data || !running.data) return null
  const { keys: some, next } = keys.data
  const { config } = running.data
  // More keys were made by people who know how.
  const isUsed = next !== null || some.some(({ lastUsedAt }) => lastUsedAt) || config.jwt.length > 0
  // A token that is shown stays until its dialog is closed.
  if ((isUsed || !isQuiet) && !section.current?.querySelector('dialog[open]')) return null
  const line = `curl ${firstUrl(config)} -H "Authorization: Bearer TOKEN"`
  return html`
    <section class="card" ref=${section}>
      <h2>First steps</h2>
      <ol>
        <li>
          <p>
            ${mayAll ? html`<${MakeKey} made=${keys.reload} />` : 'Ask for a key'}
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
