import { useEffect, useMemo, useState } from 'preact/hooks'
import { date } from './format.ts'
import { html, type Child } from './html.ts'
import { list, pretty, section, text, type Section } from './json.ts'
import type { Openapi, Operation } from './openapi.ts'
import { line, prose } from './prose.ts'
import { givenSample } from './sample.ts'
import { schemaView } from './schema-view.ts'
import { costOf, deprecationOf, type Deprecation, type Terms } from './terms.ts'
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
  const deprecation = deprecationOf(terms, method, inGateway)
  const isMarked = isDeprecated || deprecation !== undefined
  // Most of the page never changes, and isn't compared with itself after each answer.
  const told = useMemo(
    () => isFilled && reference(openapi, operation, isMarked && deprecationText(deprecation)),
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
      ${told}
      ${
        isFilled &&
        html`<${TryIt}
          openapi=${openapi}
          operation=${operation}
          cost=${costOf(terms, method, inGateway)}
          apiKey=${apiKey}
          sent=${sent}
        />`
      }
    </details>
  `
}

function reference(openapi: Openapi, operation: Operation, deprecation: Child): Child {
  return html`
    ${prose(operation.description)} ${deprecation} ${parametersView(openapi, operation.parameters)}
    ${bodyView(openapi, operation.body)}
    <h4>Answers</h4>
    ${operation.responses.map(([status, response]) => responseView(openapi, status, response))}
  `
}

function deprecationText(deprecation: Deprecation | undefined): Child {
  if (!deprecation) return html`<p class="banner">This operation is deprecated.</p>`
  const { since, sunset, replacement, docs, afterSunset, brownouts } = deprecation
  const then = afterSunset === 'gone' ? 'From then on it answers 410.' : 'It may go on after that.'
  return html`
    <div class="banner">
      <p>
        ${`Deprecated since ${date(since)}.`}
        ${sunset && html`<b> Removed on ${date(sunset)}.</b> ${then}`}
      </p>
      ${replacement && html`<p>${line(`Use \`${replacement}\` instead.`)}</p>`}
      ${docs && html`<p>More: ${line(/^https?:/.test(docs) ? `[${docs}](${docs})` : docs)}</p>`}
      ${
        brownouts.length > 0 &&
        html`<p>
          Switched off to rehearse the removal:
          ${brownouts.map(({ from, to }) => ` ${date(from)} to ${date(to)}`).join(',')}.
        </p>`
      }
    </div>
  `
}

function parametersView(openapi: Openapi, parameters: readonly Section[]): Child {
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

function bodyView(openapi: Openapi, body: Section | undefined): Child {
  if (!body) return null
  return html`
    <h4>Body ${body['required'] === true && html`<span class="required">required</span>`}</h4>
    ${prose(text(body['description']))} ${contentView(openapi, body['content'])}
  `
}

/** Each type of a body, with its schema and its examples. */
function contentView(openapi: Openapi, content: unknown): Child {
  return Object.entries(section(content)).map(([type, value]) => {
    const media = section(value)
    const examples = examplesOf(openapi, media)
    return html`
      <div class="content">
        <span class="rule">${type}</span> ${schemaView(openapi, media['schema'])}
        ${examples.map(
          ([name, each]) => html`
            <details class="example">
              <summary>Example${name && `: ${name}`}</summary>
              <pre tabindex="0">${typeof each === 'string' ? each : pretty(each)}</pre>
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
    const given = givenSample({ example: media['example'] })
    return given === undefined ? [] : [['', given]]
  }
  return named.map(([name, each]) => {
    const { summary, value } = openapi.resolve(each)
    return [text(summary) ?? name.replaceAll('_', ' '), value] as const
  })
}

function responseView(openapi: Openapi, status: string, response: Section): Child {
  const headers = Object.entries(section(response['headers']))
  const codes = codesOf(openapi, response)
  return html`
    <details class="response" data-status=${status}>
      <summary>
        <b class=${`status s${status.charAt(0)}`}>${status}</b>
        ${codes.map((code) => html` <code>${code}</code>`)} ${line(text(response['description']))}
      </summary>
      ${contentView(openapi, response['content'])}
      ${
        headers.length > 0 &&
        html`
          <h5>Headers</h5>
          <ul class="members">
            ${headers.map(([name, each]) => {
              const header = openapi.resolve(each)
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
  const media = Object.values(section(response['content'])).map(section)
  const values = media.flatMap((each) => examplesOf(openapi, each).map(([, value]) => value))
  const codes = values.flatMap((value) => text(section(value)['code']) ?? [])
  const listed = media.flatMap((each) => {
    const code = openapi.resolve(section(openapi.resolve(each['schema'])['properties'])['code'])
    return list(code['enum']).flatMap((name) => text(name) ?? [])
  })
  return [...new Set([...codes, ...listed])]
}
