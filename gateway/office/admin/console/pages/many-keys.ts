import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { FormDialog } from '../action-button.ts'
import { messageOf, plural } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'

/** The most names in a question. */
const mostNamed = 10

/** Names of keys, by their ids. */
export type PickedKeys = ReadonlyMap<string, string>

type Props = Readonly<{
  keys: PickedKeys
  /** The field that names the plan. */
  planField: Child
  /** Tells how it went. */
  done: (result: Child) => void
}>

/** Changes several keys: one question, and one result with those that failed. */
export function ManyKeys({ keys, planField, done }: Props) {
  const some = plural(keys.size, 'key')
  const names = [...keys.values()].map((name) => `“${name}”`)
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
  const named = `${names.slice(0, mostNamed).join(', ')}${more}`
  const button = (
    label: string,
    effect: string,
    fields: Child,
    change: (path: string, form: FormData) => Promise<unknown>,
  ): Child => {
    const submit = async (form: FormData): Promise<void> => {
      const failures: string[] = []
      for (const [id, name] of keys) {
        await change(`/admin/keys/${id}`, form).catch((error: unknown) =>
          failures.push(`${name}: ${messageOf(error)}`),
        )
      }
      done(resultOf(`${label}: ${plural(keys.size - failures.length, 'key')} done`, failures))
    }
    return html`<${FormDialog}
      label=${label}
      consequence=${`${some} ${effect}: ${named}.`}
      fields=${fields}
      submit=${submit}
    />`
  }
  return html`
    <div class="tools" role="group" aria-label="Selected keys">
      <p class="chip">${some} selected</p>
      ${button('Disable', 'will get 401 until enabled again', null, (path) => ask('POST', `${path}/disable`))}
      ${button('Enable', 'will work again', null, (path) => ask('POST', `${path}/enable`))}
      ${button(
        'Change plan',
        'will change plan within a second; custom limits stay',
        planField,
        (path, form) => ask('PATCH', path, { plan: fieldText(form, 'plan') }),
      )}
    </div>
  `
}

function resultOf(sentence: string, failures: readonly string[]): Child {
  if (failures.length === 0) return html`<p class="banner good" role="status">${sentence}.</p>`
  return html`<div class="banner bad" role="alert">
    ${`${sentence}, ${failures.length} failed:`}
    <ul>
      ${failures.map((failure) => html`<li>${failure}</li>`)}
    </ul>
  </div>`
}
