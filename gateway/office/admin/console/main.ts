import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { currentSession, onSignedOut, signIn, type Session } from './api.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { messageOf } from '../../../front/http/page/format.ts'
import { useWork } from '../../../front/http/page/work.ts'
import { failure } from './page-parts.ts'

type House = (props: { session: Session }) => Child

/** All pages come behind the first one, which they would hold up. */
const loading: Promise<House> = import('./layout.ts').then(({ House }) => House)

function App() {
  const [session, setSession] = useState<Session | 'unknown' | undefined>('unknown')
  const [house, setHouse] = useState<{ House: House }>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    onSignedOut(() => setSession(undefined))
    const fail = (thrown: unknown): void => {
      setError(messageOf(thrown))
      setSession(undefined)
    }
    currentSession().then(setSession, fail)
    loading.then((House) => setHouse({ House }), fail)
  }, [])
  if (session === undefined) return html`<${SignIn} error=${error} done=${setSession} />`
  if (session === 'unknown' || !house) return html`<p class="quiet alone">Loading …</p>`
  return html`<${house.House} session=${session} />`
}

type SignInProps = Readonly<{ error: string | undefined; done: (session: Session) => void }>

/** Asks for an admin token. It is sent once, and kept nowhere. */
function SignIn({ error, done }: SignInProps) {
  const field = useRef<HTMLInputElement>(null)
  const { isBusy, error: message = error, run } = useWork()
  useEffect(() => {
    document.title = 'Sign in · Tollgate'
    field.current?.focus()
  }, [])
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    const token = field.current?.value.trim() ?? ''
    if (field.current) field.current.value = ''
    const isDone = await run(async () => done(await signIn(token)))
    if (!isDone) field.current?.focus()
  }
  if (!isSecureContext) return html`<${Unsafe} />`
  return html`
    <main class="alone">
      <h1>Tollgate</h1>
      <p>
        The operators’ console of the gateway. Sign in with a token of <code>ADMIN_TOKEN</code>, or
        with the one that <code>npm start</code> keeps in <code>data/admin-token</code>.
      </p>
      <form onSubmit=${(event: Event) => void send(event)}>
        <label>
          Admin token
          <input ref=${field} type="password" required autocomplete="off" spellcheck=${false} />
        </label>
        ${message !== undefined && failure(message)}
        <button class="go" disabled=${isBusy}>Sign in</button>
      </form>
    </main>
  `
}

/** Over plain HTTP, everybody on the way could read the token, and the gateway refuses the browser's requests. */
function Unsafe() {
  const port = location.port || '80'
  return html`
    <main class="alone">
      <h1>Tollgate</h1>
      <p>
        This page came over plain HTTP from another machine, so nobody can sign in here. Use https,
        or a tunnel:
      </p>
      <pre>${`ssh -L ${port}:localhost:${port} ${location.hostname}`}</pre>
      <p>Then open <code>${`http://localhost:${port}/console/`}</code>.</p>
    </main>
  `
}

const app = document.querySelector('#app')
if (app) render(html`<${App} />`, app)
