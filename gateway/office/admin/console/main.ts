import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { currentSession, onSignedOut, type Session } from './api.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { SignIn } from './pages/sign-in.ts'
import { messageOf } from '../../../front/http/page/format.ts'

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

const app = document.querySelector('#app')
if (app) render(html`<${App} />`, app)
