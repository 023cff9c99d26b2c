import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { html, type Child } from '../../http/page/html.ts'
import { messageOf } from '../../http/page/format.ts'
import { Menu, openPlace } from './menu.ts'
import { Openapi } from './openapi.ts'
import { plansView } from './plans-view.ts'
import { line, prose } from './prose.ts'
import { section, text, type Section } from '../../http/page/sections.ts'
import { Reference, schemasView } from './reference.ts'
import { refusedView } from './refused-view.ts'
import type { Language } from './samples.ts'
import { StandingView } from './standing-view.ts'
import type { Terms } from '../terms.ts'
import { useWork } from '../../http/page/work.ts'
import { ask } from './request.ts'

/** The documents of this page lie below its own address, wherever a proxy has put it. */
const base = `${location.pathname.replace(/\/$/, '')}/`

type Documents = Readonly<{ openapi: Openapi; terms: Terms }>

async function read(name: string): Promise<unknown> {
  const answer = await fetch(`${base}${name}`, { credentials: 'omit', cache: 'no-store' })
  if (!answer.ok) throw new Error(`The gateway answered ${answer.status} for ${name}.`)
  return answer.json()
}

async function readAll(): Promise<Documents> {
  const [openapi, terms] = await Promise.all([read('openapi.json'), read('terms.json')])
  const { path } = terms as Terms
  const root = base.slice(0, -`${path}/`.length)
  return { openapi: new Openapi(openapi, root), terms: terms as Terms }
}

function App({ openapi, terms: first }: Documents) {
  const [terms, setTerms] = useState(first)
  const [apiKey, setKey] = useState<string>()
  const [round, setRound] = useState(0)
  const [language, speak] = useState<Language>('curl')
  const sent = (): void => setRound((before) => before + 1)
  const reader = { apiKey, sent, language, speak }
  const title = text(openapi.info['title']) ?? 'API'
  const { quotaPath, usagePath } = terms
  const hasStanding = apiKey !== undefined && (quotaPath ?? usagePath) !== null
  useEffect(() => {
    document.title = `${title} · reference`
    openPlace()
    addEventListener('hashchange', openPlace)
    // Somebody who comes back to the tab sees the limits in force.
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState !== 'visible') return
      read('terms.json').then(
        (now) => setTerms(now as Terms),
        () => undefined,
      )
    })
  }, [])
  return html`
    <a class="skip" href="#content">Skip to content</a>
    <header class="top">
      <p class="name">${title} <span class="quiet">${text(openapi.info['version'])}</span></p>
      <${KeyForm} root=${openapi.root} terms=${terms} apiKey=${apiKey} use=${setKey} />
    </header>
    <div class="columns">
      <${Menu} openapi=${openapi} terms=${terms} hasStanding=${hasStanding} />
      <main id="content" tabindex="-1">
        <h1>${title}</h1>
        ${line(text(openapi.info['summary']))} ${aboutView(openapi.info, `${base}openapi.json`)}
        ${
          hasStanding &&
          html`<${StandingView}
            key=${apiKey}
            root=${openapi.root}
            terms=${terms}
            apiKey=${apiKey}
            round=${round}
          />`
        }
        ${prose(text(openapi.info['description']))}
        <${Reference} openapi=${openapi} terms=${terms} reader=${reader} />
        ${plansView(terms)} ${refusedView(openapi, terms)} ${schemasView(openapi)}
      </main>
    </div>
  `
}

/** Where the document of the API is, whom to ask, and what was agreed. */
function aboutView(info: Section, document: string): Child {
  const license = section(info['license'])
  const parts: readonly (readonly [string, Child])[] = [
    ['For code generators', html`<a href=${document}>the OpenAPI document</a>`],
    ['Questions', contactOf(section(info['contact']))],
    ['Terms of service', linkOr(text(info['termsOfService']), text(info['termsOfService']))],
    ['Licence', linkOr(text(license['name']), text(license['url']))],
  ]
  return html`
    <ul class="about">
      ${parts.map(([name, content]) => content && html`<li>${name}: ${content}</li>`)}
      <li>Times are in UTC</li>
    </ul>
  `
}

/** A name, a page and an address: those that are given, each once. */
function contactOf({ name, url, email }: Section): Child {
  const page = linkOr(text(name) ?? text(url), text(url))
  const address = text(email)
  if (address === undefined) return page
  // An address with more in it could write the mail, or add readers to it.
  const isPlain = /^[\w.!#$%'*+/=^`{|}~-]+@[\w.-]+$/.test(address)
  const mail = isPlain ? html`<a href=${`mailto:${address}`}>${address}</a>` : address
  return page ? html`${page}, ${mail}` : mail
}

/** A name that leads to a page on the web, or the name alone. */
function linkOr(name: string | undefined, url: string | undefined): Child {
  if (name === undefined) return undefined
  const isPage = url !== undefined && /^https?:\/\//i.test(url)
  return isPage ? html`<a href=${url} rel="noreferrer">${name}</a>` : name
}

type KeyFormProps = Readonly<{
  /** The path before all paths of the gateway on this host. */
  root: string
  terms: Terms
  apiKey: string | undefined
  use: (key: string | undefined) => void
}>

/** Takes a key, and forgets it. It is kept in this page's memory alone: not even in the field that it was typed into. */
function KeyForm({ root, terms, apiKey, use }: KeyFormProps) {
  const { isBusy, error, run } = useWork()
  const submit = (event: Event): void => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const text = new FormData(form).get('key')
    const token = typeof text === 'string' ? text.trim() : ''
    form.reset()
    const free = terms.quotaPath ?? terms.usagePath
    void run(async () => {
      // Every other path costs something: the first request will tell.
      if (free !== null) await ask({ token, header: terms.keyHeader }, root + free)
      use(token)
    })
  }
  if (apiKey !== undefined) {
    return html`
      <p class="key">
        <span>Your key is in use. It is kept only in the memory of this page.</span>
        <button type="button" onClick=${() => use(undefined)}>Forget the key</button>
      </p>
    `
  }
  return html`
    <form class="key" onSubmit=${submit} autocomplete="off">
      <label>
        Your API key
        <input
          name="key"
          type="password"
          required
          autocomplete="off"
          spellcheck=${false}
          maxlength="200"
        />
      </label>
      <button class="go" disabled=${isBusy}>Use this key</button>
      <p class="quiet">It stays in the memory of this page and is forgotten when you leave.</p>
      ${error !== undefined && html`<p class="banner bad" role="alert">${error}</p>`}
    </form>
  `
}

const app = document.querySelector('#app')
if (app) {
  readAll().then(
    (documents) => {
      app.replaceChildren()
      render(html`<${App} ...${documents} />`, app)
    },
    (error: unknown) =>
      render(html`<p class="banner bad alone" role="alert">${messageOf(error)}</p>`, app),
  )
}
