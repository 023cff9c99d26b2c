import { useEffect, useMemo, useState } from 'preact/hooks'
import { deprecationText, leavingText, costIn, costOf, deprecationOf, type Cost } from './terms.ts'
import { html, type Child } from '../../http/page/html.ts'
import { text } from '../../http/page/sections.ts'
import { schemaId, type Openapi, type Operation } from './openapi.ts'
import { answersView, bodyView, parametersView } from './operation-parts.ts'
import { line, prose } from './prose.ts'
import { schemaView } from './schema-view.ts'
import type { Terms } from '../terms.ts'
import { TryIt, type TryItProps } from './try-it.ts'

/** All operations by their tags. */
export function Reference({ openapi, terms, reader }: Omit<OperationProps, 'operation'>) {
  return html`
    ${openapi.operations.length === 0 && html`<p class="quiet">The document has no operations.</p>`}
    ${openapi.groups.map(({ tag, operations }, i) => {
      const id = `tag-${i}`
      return html`
        <section aria-labelledby=${id}>
          <h2 id=${id}>${text(tag['name'])}</h2>
          ${prose(text(tag['description']))}
          ${operations.map(
            (operation) => html`
              <${OperationView}
                key=${operation.id}
                openapi=${openapi}
                operation=${operation}
                terms=${terms}
                reader=${reader}
              />
            `,
          )}
        </section>
      `
    })}
  `
}

type OperationProps = Omit<TryItProps, 'cost' | 'keyHeader'> & Readonly<{ terms: Terms }>

/** One operation: a form to try it, its parameters, its body, and each answer that it may get. HEAD stands in GET. */
function OperationView({ openapi, operation, terms, reader }: OperationProps) {
  const [isFilled, setFilled] = useState(false)
  const fill = (): void => setFilled(true)
  useEffect(() => whenIdle(fill), [])
  const { id, method, path, summary, head } = operation
  const cost = costOf(terms, method, path)
  const leaving = leavingText(terms, operation)
  // Most of the page never changes, and isn't compared with itself after each answer.
  const content = useMemo(
    () => isFilled && contentOf(openapi, operation, terms, cost),
    [isFilled, openapi, operation, terms],
  )
  return html`
    <details class="operation" id=${id} data-operation=${`${method} ${path}`} onToggle=${fill}>
      <summary>
        <h3>
          <span class=${`method ${method.toLowerCase()}`}>${method}</span>${' '}
          <code>${path}</code>
          ${leaving && html` <span class="mark">${markText(leaving)}</span>`}
        </h3>
        ${summary && html` <span class="quiet">${line(summary)}</span>`}
      </summary>
      ${
        content &&
        html`
          ${content.about}
          <${TryIt}
            openapi=${openapi}
            operation=${operation}
            cost=${cost}
            keyHeader=${terms.keyHeader}
            reader=${reader}
          />
          ${content.reference}
          ${
            head &&
            html`<${OperationView}
              openapi=${openapi}
              operation=${head}
              terms=${terms}
              reader=${reader}
            />`
          }
        `
      }
    </details>
  `
}

function markText(leaving: string): string {
  return leaving.startsWith('until') ? `deprecated, ${leaving}` : leaving
}

/** The parts before the form, and those after it. */
function contentOf(
  openapi: Openapi,
  operation: Operation,
  terms: Terms,
  cost: Cost | undefined,
): Readonly<{ about: Child; reference: Child }> {
  const { method, path, description, parameters, body } = operation
  const isLeaving = leavingText(terms, operation) !== undefined
  const deprecation = deprecationOf(terms, method, path)
  return {
    about: [
      prose(description),
      isLeaving && deprecationText(deprecation),
      cost && costText(cost),
      scopesText(cost?.scopes?.[method]),
    ],
    reference: [
      parametersView(openapi, parameters),
      bodyView(openapi, body),
      answersView(openapi, operation),
    ],
  }
}

/** The scopes that a key needs for it. */
function scopesText(scopes: readonly string[] | undefined): Child {
  return (
    scopes &&
    html`<p>Needs the ${scopes.length > 1 ? 'scopes' : 'scope'} ${scopes.join(' and ')}.</p>`
  )
}

/** The cost of an operation, unless it is one point, as the page says of all others. */
function costText(cost: Cost): Child {
  const isUsual = cost.cost === 1 && cost.atMost === undefined
  return isUsual ? null : html`<p>Costs ${costIn(cost)}.</p>`
}

/** The schemas that operations share. */
export function schemasView(openapi: Openapi): Child {
  if (openapi.schemas.length === 0) return null
  return html`
    <section aria-labelledby="schemas">
      <h2 id="schemas" tabindex="-1">Schemas</h2>
      ${openapi.schemas.map(
        ([name, schema]) => html`
          <details class="schema" id=${schemaId(name)} data-schema=${name}>
            <summary>
              <h3><code>${name}</code></h3>
            </summary>
            ${schemaView(openapi, schema)}
          </details>
        `,
      )}
    </section>
  `
}

/** Work that waits until the browser has nothing else to do. */
const waiting: (() => void)[] = []
let isAsked = false

/**
 * Does some work once the browser has nothing else to do, in the order of the calls, so that the beginning of a long page
 * is there at once.
 */
function whenIdle(work: () => void): void {
  waiting.push(work)
  if (isAsked) return
  isAsked = true
  next()
}

function next(): void {
  requestIdle(() => {
    waiting.shift()?.()
    if (waiting.length > 0) next()
    else isAsked = false
  })
}

function requestIdle(act: () => void): void {
  // Safari doesn't have it.
  if ('requestIdleCallback' in globalThis) requestIdleCallback(act, { timeout: 1_000 })
  else setTimeout(act)
}
