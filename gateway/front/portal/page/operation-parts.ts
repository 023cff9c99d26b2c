import { html, type Child } from '../../http/page/html.ts'
import { list, pretty, section, text, type Section } from '../../http/page/sections.ts'
import { sharedRefusalId, type Openapi, type Operation } from './openapi.ts'
import { line, prose } from './prose.ts'
import { exampleIn, givenSample } from './draft.ts'
import { schemaView } from './schema-view.ts'

/** The parameters of an operation. */
export function parametersView(openapi: Openapi, parameters: readonly Section[]): Child {
  if (parameters.length === 0) return null
  return html`
    <h4>Parameters</h4>
    <ul class="members">
      ${parameters.map((parameter) => {
        const { name, in: place, required, deprecated, description, schema, content } = parameter
        const [media] = Object.values(section(content))
        return html`
          <li data-parameter=${`${String(place)} ${String(name)}`}>
            <code>${name}</code> <span class="rule">${place}</span>
            ${required === true && html` <span class="required">required</span>`}
            ${deprecated === true && html` <span class="mark">deprecated</span>`}
            ${' '}${schemaView(openapi, schema ?? section(media)['schema'])}
            ${prose(text(description))}
          </li>
        `
      })}
    </ul>
  `
}

/** The body that an operation takes. */
export function bodyView(openapi: Openapi, body: Section | undefined): Child {
  if (!body) return null
  return html`
    <h4>Body ${body['required'] === true && html`<span class="required">required</span>`}</h4>
    ${prose(text(body['description']))} ${contentView(openapi, body['content'])}
  `
}

/** Each type of a body, with its schema and its examples. */
function contentView(openapi: Openapi, content: unknown): Child {
  return Object.entries(section(content)).map(([type, value]) => {
    const media = openapi.resolve(value)
    const { itemSchema: items } = media
    const examples = examplesOf(openapi, media)
    return html`
      <div class="content">
        <span class="rule">${type}</span> ${schemaView(openapi, media['schema'])}
        ${items !== undefined && html`<span class="rule">each item</span> ${schemaView(openapi, items)}`}
        ${examples.map(
          ([name, example]) => html`
            <details class="example">
              <summary>Example${name && `: ${name}`}</summary>
              <pre tabindex="0">${typeof example === 'string' ? example : pretty(example)}</pre>
            </details>
          `,
        )}
      </div>
    `
  })
}

function examplesOf(openapi: Openapi, media: Section): readonly (readonly [string, unknown])[] {
  const named = Object.entries(section(media['examples']))
  if (named.length === 0) {
    const sample = givenSample({ example: media['example'] })
    return sample === undefined ? [] : [['', sample]]
  }
  return named.map(([name, example]) => {
    const written = openapi.resolve(example)
    return [text(written['summary']) ?? name.replaceAll('_', ' '), exampleIn(written)] as const
  })
}

/** The answers of an operation: its own, and links to the refusals that most operations share. */
export function answersView(openapi: Openapi, { responses }: Operation): Child {
  const { has } = openapi.sharedRefusals
  const [shared, own] = [true, false].map((is) => responses.filter(([, each]) => has(each) === is))
  return html`
    <h4>Answers</h4>
    ${own?.map(([status, response]) => responseView(openapi, status, response))}
    ${
      shared &&
      shared.length > 0 &&
      html`<p class="shared">
        Shared with most operations:
        ${shared.map(
          ([status]) =>
            html`${' '}<a href=${`#${sharedRefusalId(status)}`} data-shared=${status}
                >${status}</a
              >`,
        )}
      </p>`
    }
  `
}

/** One answer of an operation: its status, its codes, its body and its headers. One that many share has a place of its own. */
export function responseView(
  openapi: Openapi,
  status: string,
  response: Section,
  id?: string,
): Child {
  const headers = Object.entries(section(response['headers']))
  const codes = codesOf(openapi, response)
  return html`
    <details class="response" id=${id} data-status=${status}>
      <summary>
        <b class=${`status s${status.charAt(0)}`}>${status}</b>
        ${codes.map((code) => html` <code>${code}</code>`)}
        ${' '}${line(text(response['description']) ?? text(response['summary']))}
      </summary>
      ${contentView(openapi, response['content'])}
      ${
        headers.length > 0 &&
        html`
          <h5>Headers</h5>
          <ul class="members">
            ${headers.map(([name, member]) => {
              const header = openapi.resolve(member)
              return html`<li data-header=${name}>
                <code>${name}</code> ${schemaView(openapi, header['schema'])}
                ${prose(text(header['description']))}
              </li>`
            })}
          </ul>
        `
      }
    </details>
  `
}

/** The codes of errors that the examples of a response have. */
function codesOf(openapi: Openapi, response: Section): readonly string[] {
  const media = Object.values(section(response['content'])).map((each) => openapi.resolve(each))
  const values = media.flatMap((each) => examplesOf(openapi, each).map(([, value]) => value))
  const codes = values.flatMap((value) => text(section(value)['code']) ?? [])
  const listed = media.flatMap((each) => {
    const code = openapi.resolve(section(openapi.resolve(each['schema'])['properties'])['code'])
    return list(code['enum']).flatMap((name) => text(name) ?? [])
  })
  return [...new Set([...codes, ...listed])]
}
