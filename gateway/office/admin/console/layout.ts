import { useEffect, useRef, useState } from 'preact/hooks'
import { get, signOut, type Session } from './api.ts'
import { Operator } from './data.ts'
import { useDraft, type KeptDraft } from './editor/editor.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { Account, Keys } from './pages/keys.ts'
import { Audit } from './pages/audit.ts'
import { useMigration, type KeptMigration } from './pages/another-backend.ts'
import { Backends } from './pages/backends.ts'
import { Configuration } from './pages/configuration.ts'
import { Deprecations } from './pages/deprecations.ts'
import { Key } from './pages/key.ts'
import { Now } from './pages/now.ts'
import { PlanPage } from './pages/plan.ts'
import { Plans } from './pages/plans.ts'
import { Request } from './pages/request.ts'
import { Search } from './search.ts'

/** The pages of the menu: the place after `#/`, the title, and the lines of its icon. */
const menu = [
  { place: 'now', title: 'Now', Page: Now, icon: 'M1 8h3l2-5 4 10 2-5h3' },
  { place: 'keys', title: 'Keys', Page: Keys, icon: 'M8 11a3 3 0 1 1-1-2l7-7M11 5l2 2' },
  { place: 'plans', title: 'Plans', Page: Plans, icon: 'M2 14V9h3v5M7 14V5h3v9M12 14V2h3v12' },
  {
    place: 'backends',
    title: 'Backends',
    Page: Backends,
    icon: 'M2 2h12v5H2zM2 9h12v5H2zM5 4.5h1M5 11.5h1',
  },
  {
    place: 'deprecations',
    title: 'Deprecations',
    Page: Deprecations,
    icon: 'M2 8a6 6 0 1 0 12 0A6 6 0 1 0 2 8M8 4v4l3 2',
  },
  {
    place: 'configuration',
    title: 'Configuration',
    Page: Configuration,
    icon: 'M1 4h6M11 4h4M1 12h3M8 12h7M7 2v4M11 2v4M4 10v4M8 10v4',
  },
  { place: 'audit', title: 'Audit log', Page: Audit, icon: 'M3 1h7l3 3v11H3zM6 7h4M6 11h4' },
] as const

/** The pages of one thing, by the places before its id. */
const pagesOfOne = new Map([
  ['accounts', Account],
  ['keys', Key],
  ['now', Now],
  ['plans', PlanPage],
  ['requests', Request],
])

/**
 * How often a page that is in view asks for its session: one without a request for an hour ends, and so does that of a tab
 * that nobody looks at.
 */
const askEveryMs = 5 * 60_000

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
  const [pageName = '', ...more] = location.hash.replace(/^#\/?/, '').split('/').map(decoded)
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

/** Does something again and again. */
function useEvery(ms: number, act: () => void): void {
  useEffect(() => {
    const timer = setInterval(act, ms)
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
    // In a row that scrolls, the present page is in view.
    document
      .querySelector('[aria-current=page]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center' })
    if (pageName !== 'keys') setSearch('')
  }, [pageName, id])
  useEvery(askEveryMs, () => {
    if (document.visibilityState === 'visible') get('/console/session').catch(() => undefined)
  })
  const [, tick] = useState(0)
  // Times that say how long ago they were stay true.
  useEvery(30_000, () => tick((before) => before + 1))
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
    <div class="house">
      <header class="side">
        <a class="name" href="#/now">Tollgate</a>
        <nav aria-label="Pages">
          <ul>
            ${menu.map(
              ({ place, title, icon }) => html`
                <li>
                  <a
                    href=${`#/${place}`}
                    aria-current=${isAt(place, pageName) ? 'page' : undefined}
                  >
                    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
                      <path d=${icon} />
                    </svg>
                    ${title}
                  </a>
                </li>
              `,
            )}
          </ul>
        </nav>
        <div class="who">
          <span>${session.name} <span class="quiet">(${session.role}), times in UTC</span></span>
          ${
            session.endsAt !== null &&
            html`<button type="button" class="link" onClick=${() => void signOut()}>
              Sign out
            </button>`
          }
        </div>
      </header>
      <div>
        <${Search} list=${list} />
        <main id="main" ref=${main}>
          <${Operator.Provider} value=${session}>${contentOf(pageName, id, pageState)}<//>
        </main>
      </div>
    </div>
  `
}

function focusHeading(main: HTMLElement | null): void {
  main?.querySelector('h1')?.focus({ preventScroll: true })
}

function isAt(menuPlace: string, pageName: string): boolean {
  return (
    menuPlace === pageName || (menuPlace === 'keys' && ['requests', 'accounts'].includes(pageName))
  )
}

function contentOf(
  pageName: string,
  id: string | undefined,
  pageState: Readonly<{
    draft: KeptDraft
    migration: KeptMigration
    search: string
    list: (text: string) => void
  }>,
): Child {
  const One = pagesOfOne.get(pageName)
  if (One && id) return html`<${One} key=${id} id=${id} />`
  const entry = menu.find((each) => each.place === pageName) ?? menu[0]
  return html`<${entry.Page} key=${pageState.search} ...${pageState} />`
}
