import { html, type Child } from '../../http/page/html.ts'
import { text } from './json.ts'
import { schemaId, type Openapi } from './openapi.ts'
import { OperationView, type OperationProps } from './operation-view.ts'
import { prose } from './prose.ts'
import { schemaView } from './schema-view.ts'

export type ReferenceProps = Omit<OperationProps, 'operation'>

/** All operations by their tags. */
export function Reference({ openapi, terms, reader }: ReferenceProps) {
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
