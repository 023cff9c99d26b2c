import { useEffect, useRef, useState } from 'preact/hooks'
import { signOut, type Session } from './api.ts'
import { useComparison, type KeptComparison } from './comparison.ts'
import { useDraft, type KeptDraft } from './editor/draft.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { Keys } from './keys.ts'
import { Backends } from './pages/backends.ts'
import { Caller } from './pages/caller.ts'
import { Callers } from './pages/callers.ts'
import { Changes } from './pages/changes.ts'
import { Configuration } from './pages/configuration.ts'
import { Now } from './pages/now.ts'
import { PlanPage } from './pages/plan.ts'
import { Plans } from './pages/plans.ts'
import { Request } from './pages/request.ts'
import { Retirements } from './pages/retirements.ts'
import { useSessionKeeper } from './keep-session.ts'

/** The pages of the menu: the place after `#/`, the title, and the key that opens it. */
const menu = [
  { place: 'now', title: 'Now', Page: Now },
  { place: 'callers', title: 'Callers', Page: Callers },
  { place: 'plans', title: 'Plans', Page: Plans },
  { place: 'backends', title: 'Backends', Page: Backends },
  { place: 'retirements', title: 'Retirements', Page: Retirements },
  { place: 'configuration', title: 'Configuration', Page: Configuration },
  { place: 'changes', title: 'Changes', Page: Changes },
] as const

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

/** The menu and the page that the address names, for who is signed in. */
export function House({ session }: { session: Session }) {
  const [pageName = '', id] = useRoute()
  const main = useRef<HTMLElement>(null)
  const pageState = { draft: useDraft(), comparison: useComparison() }
  useEffect(() => {
    // A page may have put it into its own field.
    if (!main.current?.contains(document.activeElement)) focusHeading(main.current)
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
      >Skip to the content</a
    >
    <header class="top">
      <a class="name" href="#/now">Tollgate</a>
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
      <div class="who">
        <span>${session.name} <span class="quiet">(${session.role})</span></span>
        <${Keys} />
        <button type="button" onClick=${() => void signOut()}>Sign out</button>
      </div>
    </header>
    <main id="main" ref=${main}>${contentOf(pageName, id, session, pageState)}</main>
  `
}

function focusHeading(main: HTMLElement | null): void {
  main?.querySelector('h1')?.focus({ preventScroll: true })
}

function isAt(menuPlace: string, pageName: string): boolean {
  return menuPlace === pageName || (menuPlace === 'callers' && pageName === 'requests')
}

function contentOf(
  pageName: string,
  id: string | undefined,
  session: Session,
  pageState: Readonly<{ draft: KeptDraft; comparison: KeptComparison }>,
): Child {
  if (pageName === 'callers' && id) return html`<${Caller} key=${id} id=${id} session=${session} />`
  if (pageName === 'now' && id) return html`<${Now} key=${id} plan=${id} />`
  if (pageName === 'plans' && id)
    return html`<${PlanPage} key=${id} name=${id} session=${session} />`
  if (pageName === 'requests' && id)
    return html`<${Request} key=${id} id=${id} session=${session} />`
  const entry = menu.find((each) => each.place === pageName) ?? menu[0]
  return html`<${entry.Page} session=${session} ...${pageState} />`
}
