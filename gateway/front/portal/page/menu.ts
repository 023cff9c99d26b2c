import { useState } from 'preact/hooks'
import { leavingText } from './terms.ts'
import { html } from '../../http/page/html.ts'
import { text } from '../../http/page/sections.ts'
import type { Openapi } from './openapi.ts'
import type { Terms } from '../terms.ts'

type MenuProps = Readonly<{ openapi: Openapi; terms: Terms; hasStanding: boolean }>

/** The contents of the page: beside it where there is room, else above it and closed. */
export function Menu({ openapi, terms, hasStanding }: MenuProps) {
  const [isWide] = useState(() => matchMedia('(min-width: 60rem)').matches)
  return html`
    <nav aria-label="Contents">
      <details open=${isWide}>
        <summary>Contents</summary>
        <ul>
          ${hasStanding && html`<li><a href="#standing">Your limits and usage</a></li>`}
        </ul>
        ${openapi.groups.map(
          ({ tag, operations }) => html`
            <p class="tag">${text(tag['name'])}</p>
            <ul>
              ${operations.map((operation) => {
                const { id, method, path } = operation
                const leaving = leavingText(terms, operation)
                return html`<li>
                  <a href=${`#${id}`}>
                    <span class="method">${method}</span>${' '}<span>${path}</span>
                    ${leaving && html` <span class="leaving">${leaving}</span>`}
                  </a>
                </li>`
              })}
            </ul>
          `,
        )}
        <p class="tag">For all operations</p>
        <ul>
          <li><a href="#plans">Plans and limits</a></li>
          <li><a href="#refused">When requests are refused</a></li>
          ${openapi.schemas.length > 0 && html`<li><a href="#schemas">Schemas</a></li>`}
        </ul>
      </details>
    </nav>
  `
}

/** Opens the place that the address names, and brings it into view with the focus on it. */
export function openPlace(): void {
  const element = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!element) return
  for (let at: Element | null = element; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true
  }
  element.scrollIntoView()
  const target = element.querySelector<HTMLElement>(':scope > summary') ?? element
  target.focus({ preventScroll: true })
}
