import { html, type Child } from '../../../front/http/page/html.ts'
import type { Plan } from './settings.ts'

type ChoiceProps<Value extends string> = Readonly<{
  label: string
  value: Value
  options: readonly (readonly [Value, string])[]
  choose: (value: Value) => void
}>

/** A few options, one of which is taken. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  choose,
}: ChoiceProps<Value>) {
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
  return html`
    <label
      >Plan
      <select name="plan" required onChange=${(event: Event) => choose?.(typedIn(event))}>
        ${selected !== undefined && !plans.some(({ name }) => name === selected) && html`<option value="" selected></option>`}
        ${plans.map(({ name }) => html`<option value=${name} selected=${name === selected}>${name}</option>`)}
      </select>
    </label>
  `
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
