import { useEffect, useMemo, useState } from 'preact/hooks'
import { deprecationText, leavingText } from './deprecation-text.ts'
import { html, type Child } from '../../http/page/html.ts'
import type { Openapi, Operation } from './openapi.ts'
import { answersView, bodyView, parametersView } from './operation-parts.ts'
import { line, prose } from './prose.ts'
import { costIn, costOf, deprecationOf, type Cost } from './terms.ts'
import type { Terms } from '../terms.ts'
import { TryIt, type TryItProps } from './try-it.ts'
import { whenIdle } from './when-idle.ts'

export type OperationProps = Omit<TryItProps, 'cost' | 'keyHeader'> & Readonly<{ terms: Terms }>

/** One operation: a form to try it, its parameters, its body, and each answer that it may get. HEAD stands in GET. */
export function OperationView({ openapi, operation, terms, reader }: OperationProps) {
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

/** What stands before the form, and what after it. */
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

/** What an operation costs, unless it is one point, as the page says of all others. */
function costText(cost: Cost): Child {
  const isUsual = cost.cost === 1 && cost.atMost === undefined
  return isUsual ? null : html`<p>Costs ${costIn(cost)}.</p>`
}
