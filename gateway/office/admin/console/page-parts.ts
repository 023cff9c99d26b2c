import { useEffect, useState } from 'preact/hooks'
import { marks } from './charts/outcomes.ts'
import { clock, count } from '../../../front/http/page/format.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { column, table, type Column } from '../../../front/http/page/table.ts'
import { time as timeOf } from '../../../front/http/page/time.ts'
import { utc } from '../../../front/http/page/utc.ts'
import type { Dated } from './data.ts'

export { column, numeric, table, type Column } from '../../../front/http/page/table.ts'

/** A page: its heading, the command that does the same, what it is there to do at the right, and its content. */
export function page(title: string, command: string, action: Child, ...content: Child[]) {
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  return html`
    <header class="head">
      <h1 tabindex="-1">${title}</h1>
      <p class="same">CLI: <code>${command}</code></p>
      ${action}
    </header>
    ${content}
  `
}

/**
 * Data with its age: what could not be asked anew turns grey, and says since when. It is one element of one kind, loaded or
 * not: with another one, its neighbours would be made anew, and lose what was typed into them.
 */
export function aged<Data>({ data, atMs, error }: Dated<Data>, show: (data: Data) => Child): Child {
  if (data === undefined) {
    return html`<div>${error ? failure(error.message) : html`<p class="quiet">Loading …</p>`}</div>`
  }
  const asOf = atMs === undefined ? '' : utc(new Date(atMs).toISOString())
  return html`
    <div>
      ${error && html`<p class="banner" role="status">As of ${asOf}: ${error.message}</p>`}
      <div class=${error ? 'stale' : ''}>${show(data)}</div>
    </div>
  `
}

/** Sentences, and the number of those that aren't told. */
export function withMore(sentences: readonly string[], more = 0): readonly string[] {
  return more === 0 ? sentences : [...sentences, `and ${count(more)} more`]
}

export function failure(message: string) {
  return html`<p class="banner bad" role="alert">${message}</p>`
}

/** A page without anything yet: the first step, and what it takes it by. */
export function emptyPage(title: string, ...steps: Child[]): Child {
  return html`<section class="card">
    <h2>${title}</h2>
    ${steps}
  </section>`
}

/** The button of the page's title once more, where the first step is. */
export function firstButton(label: string): Child {
  const press = (): void => document.querySelector<HTMLElement>('.head .go')?.click()
  return html`<p><button type="button" onClick=${press}>${label}</button></p>`
}

/** A link to the configuration that looks like a button, for a first step. */
export function toConfiguration(): Child {
  return html`<p><a class="go" href="#/configuration">Edit the configuration</a></p>`
}

/** A time as all pages show it, or what stands for none. */
export function time(iso: string | null | undefined, otherwise?: string) {
  if (!iso) return html`<span class="quiet">${otherwise ?? '–'}</span>`
  return timeOf(iso)
}

/** Values with their names; those that are empty are left out. */
export function facts(all: readonly (readonly [name: string, value: Child])[]) {
  return html`
    <dl class="facts">
      ${all
        .filter(([, value]) => Boolean(value))
        .map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
        )}
    </dl>
  `
}

/** A link to the page of a key. */
export function keyLink(id: string, name: string): Child {
  return html`<a href=${`#/keys/${id}`}>${name}</a>`
}

/** A link to the page of a request, by its time. */
export function requestLink(id: string, iso: string): Child {
  return html`<a href=${`#/requests/${encodeURIComponent(id)}`}>${clock(iso)}</a>`
}

/** A link to the page of an account. */
export function accountLink(name: string): Child {
  return html`<a class="cut" href=${`#/accounts/${encodeURIComponent(name)}`}>${name}</a>`
}

/** The key of a quota, and the account that shares it. */
export const quotaColumn = column<QuotaOfKey>(
  'Key',
  ({ key, name, account }) => html`
    ${keyLink(key, name)} ${account && html`<div class="quiet">account ${account}</div>`}
  `,
)

type QuotaOfKey = Readonly<{ key: string; name: string; account?: string | null | undefined }>

/** The rows that a long table has at first. */
const firstRows = 20

/** A table that begins with its first rows, and says how many there are. */
export function FirstRows<Row>({ caption, columns, rows, keyOf }: FirstRowsProps<Row>) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? rows : rows.slice(0, firstRows)
  const isCut = shown.length < rows.length
  const said = isCut ? `${caption}: the first ${firstRows} of ${count(rows.length)}` : caption
  return html`
    ${table(said, columns, shown, keyOf)}
    ${isCut && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${count(rows.length)}</button></p>`}
  `
}

type FirstRowsProps<Row> = Readonly<{
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf?: (row: Row) => string
}>

/** A refusal as lists and answers tell of it. */
type Refused = Readonly<{
  reason: string
  operation?: string | undefined
  cap?: true | undefined
}>

/** Why a request was refused, and whose limit it was if not the plan's: "hour of exports", "minute of the cap". */
export function reasonText({ reason, operation, cap }: Refused): string {
  return `${reason}${operation === undefined ? '' : ` of ${operation}`}${cap ? ' of the cap' : ''}`
}

/** Fewer requests say nothing but of failures. */
const fewest = 20

/** Says that a figure of some requests is over its mark. */
export function overMark(name: keyof typeof marks, figure: number, requests: number): Child {
  const mark = marks[name]
  const isOver = figure > mark && (requests >= fewest || name === 'failed')
  const text = mark < 1 ? `${mark * 100} %` : `${count(mark)} ms`
  return isOver && html` <strong class="alarming">▲ over ${text}</strong>`
}
