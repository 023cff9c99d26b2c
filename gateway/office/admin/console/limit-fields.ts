import type { LimitName } from '../../../../shared/windows.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { windows, type LimitsByName } from '../../../front/http/page/windows.ts'
import { fieldText } from './controls.ts'

/** A field for the limit of each window that a key may have of its own. */
export function limitFields(limits: LimitsByName = {}): Child {
  return html`
    <fieldset class="limits">
      <legend>Limits, if not as the plan says: a number, or unlimited</legend>
      ${windows.map(
        ({ limit, heading }) => html`
          <label
            >${heading}
            <input
              class="short"
              name=${limit}
              defaultValue=${limits[limit] ?? ''}
              autocomplete="off"
            />
          </label>
        `,
      )}
    </fieldset>
  `
}

/** The limits that a form has; `null` where its field is empty. What is no limit is sent as it is, and refused. */
export function limitsIn(
  form: FormData,
): readonly (readonly [LimitName, number | string | null])[] {
  return windows.map(({ limit }) => {
    const text = fieldText(form, limit)
    return [limit, text === '' ? null : /^\d+$/.test(text) ? Number(text) : text]
  })
}
