import { html } from '../../http/page/html.ts'
import { text } from './json.ts'
import { schemaId, type Openapi } from './openapi.ts'
import { OperationView } from './operation-view.ts'
import { prose } from './prose.ts'
import { schemaView } from './schema-view.ts'
import type { Terms } from '../terms.ts'

export type ReferenceProps = Readonly<{
  openapi: Openapi
  terms: Terms
  apiKey: string | undefined
  sent: () => void
}>

/** All operations by their tags, and the schemas that they share. */
export function Reference({ openapi, terms, apiKey, sent }: ReferenceProps) {
  return html`
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
                apiKey=${apiKey}
                sent=${sent}
              />
            `,
          )}
        </section>
      `
    })}
    ${
      openapi.schemas.length > 0 &&
      html`
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
  `
}
