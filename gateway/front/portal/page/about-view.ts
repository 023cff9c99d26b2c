import { html, type Child } from '../../http/page/html.ts'
import { section, text, type Section } from './json.ts'

/** Where the document of the API is, whom to ask, and what was agreed. */
export function aboutView(info: Section, document: string): Child {
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
