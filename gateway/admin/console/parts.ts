import { useEffect, useRef, useState } from 'preact/hooks'
import type { ApiError } from './api.ts'
import { clock, count, local, utc } from './format.ts'
import { html, type Child } from './html.ts'
import type { Loaded } from './data.ts'

/** A page: its heading, the command that does the same, and its content. */
export function page(title: string, command: string | undefined, ...content: Child[]) {
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  return html`
    <header class="head">
      <h1 tabindex="-1">${title}</h1>
      ${command && html`<p class="same">The same: <code>${command}</code></p>`}
    </header>
    ${content}
  `
}

/** Data with its age: what could not be asked anew turns grey, and says since when. */
export function aged<Data>(
  { data, atMs, error }: Loaded<Data>,
  show: (data: Data) => Child,
): Child {
  if (data === undefined) return error ? failure(error) : html`<p class="quiet">Loading …</p>`
  if (!error) return show(data)
  const asOf = atMs === undefined ? '' : clock(new Date(atMs).toISOString())
  return html`
    <p class="banner" role="status">As of ${asOf} UTC: ${error.message}</p>
    <div class="stale">${show(data)}</div>
  `
}

export function failure({ message }: Pick<ApiError, 'message'>) {
  return html`<p class="banner bad" role="alert">${message}</p>`
}

/** A time in UTC; the reader's own is its tooltip. */
export function time(iso: string | null | undefined, otherwise?: string) {
  if (!iso) return html`<span class="quiet">${otherwise ?? '–'}</span>`
  return html`<time datetime=${iso} title=${local(iso)}>${utc(iso)}</time>`
}

export type Column<Row> = Readonly<{
  name: string
  cell: (row: Row) => Child
  isNumber?: boolean
}>

/** A real table. On narrow screens it scrolls by itself, by keyboard too; a tall one also up and down. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  keyOf: (row: Row, index: number) => string | number = (_row, index) => index,
  isTall = false,
) {
  return html`
    <div
      class=${isTall ? 'scroll tall' : 'scroll'}
      tabindex="0"
      role="region"
      aria-label=${caption}
    >
      <table>
        <caption>
          ${caption}
        </caption>
        <thead>
          <tr>
            ${columns.map(({ name, isNumber }) => html`<th scope="col" class=${isNumber ? 'number' : ''}>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) => html`
              <tr key=${keyOf(row, index)}>
                ${columns.map(({ cell, isNumber }) => html`<td class=${isNumber ? 'number' : ''}>${cell(row)}</td>`)}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `
}

/** How much of a limit is used: a bar, and the same in words. */
export function bar(name: string, used: number, limit: number | undefined, until?: string) {
  if (limit === undefined) {
    return html`<div class="bar"><span>${name}: ${count(used)} used, no limit</span></div>`
  }
  return html`
    <div class=${`bar ${levelOf(used, limit)}`}>
      <span>
        ${`${name}: ${count(used)} of ${count(limit)} `}
        ${until && html`<span class="quiet">until ${until}</span>`}
      </span>
      ${meter(name, used, limit)}
    </div>
  `
}

/** The same for a table's cell. */
export function smallBar(name: string, used: number, limit: number) {
  return html`
    <div class=${`bar small ${levelOf(used, limit)}`}>
      <span>${count(used)} <span class="quiet">of ${count(limit)}</span></span>
      ${meter(name, used, limit)}
    </div>
  `
}

function levelOf(used: number, limit: number): 'full' | 'near' | 'fine' {
  return used >= limit ? 'full' : used >= 0.8 * limit ? 'near' : 'fine'
}

function meter(name: string, used: number, limit: number) {
  return html`<meter
    min="0"
    max=${limit}
    value=${Math.min(used, limit)}
    aria-label=${`${name}: ${count(used)} of ${count(limit)}`}
  ></meter>`
}

export type Action = Readonly<{
  /** The words on its button. */
  label: string
  /** What will happen, told before it does. */
  consequence: string
  /** A word to type, for what can't be undone. */
  typed?: string
  act: () => Promise<void>
}>

/** A button that tells what will happen, and asks once more. */
export function ActionButton({ label, consequence, typed, act }: Action) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [word, setWord] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const open = (): void => {
    setWord('')
    setError(undefined)
    dialog.current?.showModal()
  }
  const go = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    try {
      await act()
      dialog.current?.close()
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
    setBusy(false)
  }
  return html`
    <button type="button" onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${label}>
      <form onSubmit=${(event: Event) => void go(event)}>
        <h2>${label}</h2>
        <p>${consequence}</p>
        ${
          typed !== undefined &&
          html`<label
            >Type <b>${typed}</b> to go on
            <input
              value=${word}
              autocomplete="off"
              onInput=${(event: Event) => setWord((event.target as HTMLInputElement).value)}
            />
          </label>`
        }
        ${error !== undefined && failure({ message: error })}
        <div class="buttons">
          <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
          <button class="go" disabled=${isBusy || (typed !== undefined && word !== typed)}>
            ${label}
          </button>
        </div>
      </form>
    </dialog>
  `
}
