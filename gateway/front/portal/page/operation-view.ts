import { useEffect, useMemo, useState } from 'preact/hooks'
import { deprecationText } from './deprecation-text.ts'
import { html, type Child } from '../../http/page/html.ts'
import type { Openapi, Operation } from './openapi.ts'
import { bodyView, parametersView, responseView } from './operation-parts.ts'
import { line, prose } from './prose.ts'
import { costIn, costOf, deprecationOf, type Cost } from './terms.ts'
import type { Terms } from '../terms.ts'
import { TryIt } from './try-it.ts'
import { whenIdle } from './when-idle.ts'

export type OperationProps = Readonly<{
  openapi: Openapi
  operation: Operation
  terms: Terms
  apiKey: string | undefined
  sent: () => void
}>

/** One operation: its parameters, its body, each answer that it may get, and a form to try it. */
export function OperationView({ openapi, operation, terms, apiKey, sent }: OperationProps) {
  const [isFilled, setFilled] = useState(false)
  const fill = (): void => setFilled(true)
  useEffect(() => whenIdle(fill), [])
  const { id, method, path, summary, isDeprecated } = operation
  const inGateway = `${openapi.basePath}${path}`
  const cost = costOf(terms, method, inGateway)
  const deprecation = deprecationOf(terms, method, inGateway)
  const isMarked = isDeprecated || deprecation !== undefined
  // Most of the page never changes, and isn't compared with itself after each answer.
  const content = useMemo(
    () =>
      isFilled && [
        cost && costText(cost),
        reference(openapi, operation, isMarked && deprecationText(deprecation)),
      ],
    [isFilled, openapi, operation, terms],
  )
  return html`
    <details class="operation" id=${id} data-operation=${`${method} ${path}`} onToggle=${fill}>
      <summary>
        <h3>
          <span class=${`method ${method.toLowerCase()}`}>${method}</span>${' '}
          <code class=${isMarked ? 'leaving' : ''}>${path}</code>
          ${isMarked && html` <span class="mark">deprecated</span>`}
        </h3>
        ${summary && html` <span class="quiet">${line(summary)}</span>`}
      </summary>
      ${content}
      ${
        isFilled &&
        html`<${TryIt}
          openapi=${openapi}
          operation=${operation}
          cost=${cost}
          apiKey=${apiKey}
          keyHeader=${terms.keyHeader}
          sent=${sent}
        />`
      }
    </details>
  `
}

/** What an operation costs, unless it is one point, as the page says of all others. */
function costText(cost: Cost): Child {
  const isUsual = cost.cost === 1 && cost.atMost === undefined
  return isUsual ? null : html`<p>Costs ${costIn(cost)}.</p>`
}

function reference(openapi: Openapi, operation: Operation, deprecation: Child): Child {
  return html`
    ${prose(operation.description)} ${deprecation} ${parametersView(openapi, operation.parameters)}
    ${bodyView(openapi, operation.body)}
    <h4>Answers</h4>
    ${operation.responses.map(([status, response]) => responseView(openapi, status, response))}
  `
}
