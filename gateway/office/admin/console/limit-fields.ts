import type { LimitName } from '../../../../shared/windows.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { windows, type LimitsByName } from '../../../front/http/page/windows.ts'
import { fieldText } from './controls.ts'

/** The members of a key that are limits by windows, and a plan itself, with the words above their fields. */
const legends = {
  limits: 'Limits, if not as the plan says: a number, or unlimited',
  cap: 'Cap: the most that this key alone may use of its account',
  plan: 'Limits: a number, or unlimited; without any, each key brings its own',
}

/** A field for the limit of each window. */
export function limitFields(of: keyof typeof legends, limits: LimitsByName = {}): Child {
  return html`
    <fieldset class="limits">
      <legend>${legends[of]}</legend>
      ${windows.map(
        ({ limit, heading }) => html`
          <label
            >${heading}
            <input
              class="short"
              name=${`${of}.${limit}`}
              defaultValue=${limits[limit] ?? ''}
              autocomplete="off"
            />
          </label>
        `,
      )}
    </fieldset>
  `
}

/**
 * The limits in a form that differ from those before, as a member of what is sent; none of a form without their fields.
 * `null` is for an empty field. What isn't a limit is sent as it is, and refused.
 */
export function limitsIn(
  form: FormData,
  of: keyof typeof legends,
  before: LimitsByName = {},
): Partial<Record<typeof of, Readonly<Partial<Record<LimitName, number | string | null>>>>> {
  const changed = windows.flatMap(({ limit }) => {
    const name = `${of}.${limit}`
    const text = fieldText(form, name)
    const value = text === '' ? null : /^\d+$/.test(text) ? Number(text) : text
    return form.has(name) && value !== (before[limit] ?? null) ? [[limit, value] as const] : []
  })
  return changed.length > 0 ? { [of]: Object.fromEntries(changed) } : {}
}
