import { useEffect, useMemo, useState } from 'preact/hooks'
import { AnswerView } from './answer-view.ts'
import { bodyChoices, canSend, draftOf, firstValues, type Body } from './draft.ts'
import { html, type Child } from '../../http/page/html.ts'
import { useWork } from '../../http/page/work.ts'
import { inline, list, text, type Section } from '../../http/page/sections.ts'
import type { Openapi, Operation } from './openapi.ts'
import { costIn, type Cost } from './terms.ts'
import { callOf, send, type Answer } from './request.ts'
import { SampleView, type Reader } from './sample-view.ts'
import type { Terms } from '../terms.ts'

export type TryItProps = Readonly<{
  openapi: Openapi
  operation: Operation
  /** What it costs; `undefined` if that isn't known. */
  cost: Cost | undefined
  keyHeader: Terms['keyHeader']
  reader: Reader
}>

/** Sends one operation with the reader's own values and key, and shows the answer. */
export function TryIt({ openapi, operation, cost, keyHeader, reader }: TryItProps) {
  const { apiKey, sent } = reader
  const choices = useMemo(() => bodyChoices(openapi, operation), [openapi, operation])
  const [values, setValues] = useState(() => firstValues(openapi, operation))
  const [body, setBody] = useState(choices[0])
  const [answer, setAnswer] = useState<Answer | string>()
  const { isBusy, run } = useWork()
  // Answers belong to the key that they came for.
  useEffect(() => setAnswer(undefined), [apiKey])
  const draft = draftOf(openapi, operation, values, body)

  const submit = (event: Event): void => {
    event.preventDefault()
    const key = apiKey === undefined ? undefined : { token: apiKey, header: keyHeader }
    void run(async () => {
      setAnswer(
        await send(draft, key).catch((error: unknown) => `No answer came: ${String(error)}`),
      )
      sent()
    })
  }
  const { id, method, parameters } = operation
  return html`
    <form class="try" onSubmit=${submit} aria-label=${`Try ${method} ${operation.path}`}>
      <h4>Try it</h4>
      ${parameters.map((parameter, i) =>
        field(openapi, parameter, `${id}-${i}`, values[i] ?? '', (value) =>
          setValues(values.map((before, place) => (place === i ? value : before))),
        ),
      )}
      <${BodyFields} choices=${choices} body=${body} change=${setBody} />
      <div class="buttons send">
        <button class="go" disabled=${isBusy}>Send</button>
        <p class="quiet">${costSentence(cost, method, apiKey)}</p>
      </div>
      ${answer !== undefined && html`<${AnswerView} answer=${answer} />`}
      <${SampleView} call=${callOf(draft, keyHeader)} reader=${reader} />
    </form>
  `
}

type BodyFieldsProps = Readonly<{
  choices: readonly Body[]
  /** The body that will be sent; `undefined` for an operation without one. */
  body: Body | undefined
  change: (body: Body | undefined) => void
}>

function BodyFields({ choices, body, change }: BodyFieldsProps) {
  if (!body) return null
  const { type, text } = body
  const choose = ({ target }: Event): void =>
    change(choices.find((each) => each.type === (target as HTMLSelectElement).value))
  return html`
    ${
      choices.length > 1 &&
      html`<label>
        Content type
        <select onChange=${choose}>
          ${choices.map((each) => html`<option selected=${each.type === type}>${each.type}</option>`)}
        </select>
      </label>`
    }
    <label class="wide">
      Body (${type})
      <textarea
        rows=${Math.min(14, text.split('\n').length + 1)}
        spellcheck=${false}
        value=${text}
        onInput=${({ target }: Event) => change({ type, text: (target as HTMLTextAreaElement).value })}
      ></textarea>
    </label>
  `
}

function costSentence(cost: Cost | undefined, method: string, apiKey: string | undefined): string {
  const real = ['GET', 'HEAD', 'QUERY', 'OPTIONS'].includes(method)
    ? ''
    : ' It is a real request, and changes real data.'
  if (apiKey === undefined) {
    return `Without a key it is refused with 401, and counts against your address. Enter your key at the top.${real}`
  }
  if (!cost) return `Sending costs what the API's operator has set.${real}`
  const what = costIn(cost)
  if (what === 'nothing') return `Sending costs nothing.${real}`
  return `Sending costs ${what} of your key’s quota, as from anywhere else.${real}`
}

function field(
  openapi: Openapi,
  parameter: Section,
  id: string,
  value: string,
  change: (value: string) => void,
): Child {
  const name = text(parameter['name']) ?? ''
  const isRequired = parameter['required'] === true
  if (!canSend(parameter)) {
    return html`<p class="quiet">
      The ${String(parameter['in'])} <code>${name}</code> can’t be sent from a page.
    </p>`
  }
  const schema = openapi.resolve(parameter['schema'])
  const values = list(schema['enum']).map((each) =>
    typeof each === 'string' ? each : inline(each),
  )
  const label = html`<span>
    <code>${name}</code>${' '}
    <span class="quiet">${String(parameter['in'])}${isRequired ? ', required' : ''}</span>
  </span>`
  const input = (event: Event): void => change((event.target as HTMLInputElement).value)
  const shared = { id, value, required: isRequired, onInput: input }
  return html`
    <label for=${id}>
      ${label}
      ${
        values.length > 0
          ? html`<select ...${shared}>
              <option value="">–</option>
              ${values.map((each) => html`<option value=${each}>${each}</option>`)}
            </select>`
          : html`<input ...${shared} autocomplete="off" spellcheck=${false} />`
      }
    </label>
  `
}
