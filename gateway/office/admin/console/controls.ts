import { html } from '../../../front/http/page/html.ts'

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

/** The text of a form's field, without spaces around it. */
export function fieldText(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value.trim() : ''
}
