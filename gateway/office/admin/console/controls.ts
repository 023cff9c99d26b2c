import { html, type Child } from '../../../front/http/page/html.ts'
import type { Plan } from './data.ts'

type Attributes = Readonly<Record<string, unknown>>

/** A field for a text, with words above it. */
export function field(label: Child, attributes: Attributes): Child {
  return html`<label>${label} <input autocomplete="off" ...${attributes} /></label>`
}

/** A field for a time in UTC. */
export function timeField(label: string, name: string, isoMinute?: string): Child {
  return field(label, { name, type: 'datetime-local', defaultValue: isoMinute })
}

export type Options = readonly (readonly [value: string, words: string])[]

/** One of several values, with words above them. */
export function select(label: Child, attributes: Attributes, options: Options, selected?: string) {
  return html`
    <label
      >${label}
      <select ...${attributes}>
        ${options.map(([value, words]) => html`<option value=${value} selected=${value === selected}>${words}</option>`)}
      </select>
    </label>
  `
}

type ChoiceProps<Value extends string> = Readonly<{
  label: string
  value: Value
  options: readonly (readonly [Value, string])[]
  choose: (value: Value) => void
}>

/** A few options, one of which is taken. */
export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, value, options, choose } = props
  return html`
    <fieldset class="choice">
      <legend class="unseen">${label}</legend>
      ${options.map(
        ([name, text]) => html`
          <label>
            <input
              type="radio"
              name=${label}
              checked=${name === value}
              onChange=${() => choose(name)}
            />
            ${text}
          </label>
        `,
      )}
    </fieldset>
  `
}

/** The plan of a key, by its name. */
export function planField(
  plans: readonly Plan[],
  selected?: string,
  choose?: (plan: string) => void,
): Child {
  const isUnknown = selected !== undefined && !plans.some(({ name }) => name === selected)
  const names = plans.map(({ name }) => [name, name] as const)
  const onChange = (event: Event): void => choose?.(typedIn(event))
  return select(
    'Plan',
    { name: 'plan', required: true, onChange },
    isUnknown ? [['', ''], ...names] : names,
    isUnknown ? '' : selected,
  )
}

/** The form that a page sends by itself. */
export function formIn(event: Event): FormData {
  event.preventDefault()
  return new FormData(event.target as HTMLFormElement)
}

/** What a field has that was changed. */
export function typedIn(event: Event): string {
  return (event.target as HTMLInputElement).value
}

/** The words of a form's field. */
export function fieldWords(form: FormData, name: string): string[] {
  return fieldText(form, name)
    .split(/[\s,]+/)
    .filter((word) => word !== '')
}

/** The text of a form's field, without spaces around it. */
export function fieldText(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value.trim() : ''
}
