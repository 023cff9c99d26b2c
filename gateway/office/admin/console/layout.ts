import { useEffect, useRef, useState } from 'preact/hooks'
import { get, signOut, type Session } from './api.ts'
import { useDraft, type KeptDraft } from './editor/draft.ts'
import { useMigration, type KeptMigration } from './migration.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { Audit } from './pages/audit.ts'
import { Backends } from './pages/backends.ts'
import { Configuration } from './pages/configuration.ts'
import { Deprecations } from './pages/deprecations.ts'
import { Key } from './pages/key.ts'
import { Keys } from './pages/keys.ts'
import { Now } from './pages/now.ts'
import { PlanPage } from './pages/plan.ts'
import { Plans } from './pages/plans.ts'
import { Request } from './pages/request.ts'
import { Search } from './search.ts'
import { Shortcuts } from './shortcuts.ts'

/** The pages of the menu: the place after `#/`, and the title. */
const menu = [
  { place: 'now', title: 'Now', Page: Now },
  { place: 'keys', title: 'Keys', Page: Keys },
  { place: 'plans', title: 'Plans', Page: Plans },
  { place: 'backends', title: 'Backends', Page: Backends },
  { place: 'deprecations', title: 'Deprecations', Page: Deprecations },
  { place: 'configuration', title: 'Configuration', Page: Configuration },
  { place: 'audit', title: 'Audit log', Page: Audit },
] as const

/** How often a page that is in view asks for its session: one without a request for an hour ends. */
const askEveryMs = 5 * 60_000

/** Places that links from elsewhere may still name, each with the one that it leads to. */
const formerPlaces = new Map([
  ['callers', 'keys'],
  ['retirements', 'deprecations'],
  ['changes', 'audit'],
])

/** The path after `#/`, in its parts. */
function useRoute(): readonly string[] {
  const [parts, setParts] = useState(routeParts)
  useEffect(() => {
    const follow = (): void => setParts(routeParts())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return parts
}

function routeParts(): string[] {
  const [written = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/')
  const place = formerPlaces.get(written)
  if (place !== undefined) history.replaceState(null, '', `#/${[place, ...rest].join('/')}`)
  const [pageName = '', ...more] = [place ?? written, ...rest].map(decoded)
  return [pageName === '' ? menu[0].place : pageName, ...more]
}

/** A part of an address, which may have been typed by hand. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Keeps the session while the page is in view. A tab that nobody looks at asks nothing, and its session ends. */
function useSessionKeeper(): void {
  useEffect(() => {
    const stay = (): void => {
      if (document.visibilityState === 'visible') get('/console/session').catch(() => undefined)
    }
    const timer = setInterval(stay, askEveryMs)
    return () => clearInterval(timer)
  }, [])
}

/** The menu, the search and the page that the address names, for who is signed in. */
export function House({ session }: { session: Session }) {
  const [pageName = '', id] = useRoute()
  const main = useRef<HTMLElement>(null)
  const isOpening = useRef(true)
  const [search, setSearch] = useState('')
  const list = (text: string): void => {
    setSearch(text)
    location.hash = '#/keys'
  }
  const pageState = { draft: useDraft(), migration: useMigration(), search, list }
  useEffect(() => {
    // It is in the search field then.
    if (!isOpening.current) focusHeading(main.current)
    isOpening.current = false
    if (pageName !== 'keys') setSearch('')
  }, [pageName, id])
  useSessionKeeper()
  return html`
    <a
      class="skip"
      href="#main"
      onClick=${(event: Event) => {
        // The part after # is the place of a page.
        event.preventDefault()
        focusHeading(main.current)
      }}
      >Skip to content</a
    >
    <header class="top">
      <a class="name" href="#/now">Tollgate</a>
      <${Search} list=${list} />
      <div class="who">
        <span>${session.name} <span class="quiet">(${session.role})</span></span>
        <${Shortcuts} />
        <button type="button" onClick=${() => void signOut()}>Sign out</button>
      </div>
      <nav aria-label="Pages">
        <ul>
          ${menu.map(
            (each) => html`
              <li>
                <a
                  href=${`#/${each.place}`}
                  aria-current=${isAt(each.place, pageName) ? 'page' : undefined}
                  >${each.title}</a
                >
              </li>
            `,
          )}
        </ul>
      </nav>
    </header>
    <main id="main" ref=${main}>${contentOf(pageName, id, session, pageState)}</main>
  `
}

function focusHeading(main: HTMLElement | null): void {
  main?.querySelector('h1')?.focus({ preventScroll: true })
}

function isAt(menuPlace: string, pageName: string): boolean {
  return menuPlace === pageName || (menuPlace === 'keys' && pageName === 'requests')
}

function contentOf(
  pageName: string,
  id: string | undefined,
  session: Session,
  pageState: Readonly<{
    draft: KeptDraft
    migration: KeptMigration
    search: string
    list: (text: string) => void
  }>,
): Child {
  if (pageName === 'keys') {
    return id
      ? html`<${Key} key=${id} id=${id} session=${session} />`
      : html`<${Keys} key=${pageState.search} session=${session} ...${pageState} />`
  }
  if (pageName === 'now' && id) return html`<${Now} key=${id} plan=${id} session=${session} />`
  if (pageName === 'plans' && id)
    return html`<${PlanPage} key=${id} name=${id} session=${session} />`
  if (pageName === 'requests' && id)
    return html`<${Request} key=${id} id=${id} session=${session} />`
  const entry = menu.find((each) => each.place === pageName) ?? menu[0]
  return html`<${entry.Page} session=${session} ...${pageState} />`
}
