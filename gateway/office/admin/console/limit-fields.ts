import type { LimitName } from '../../../../shared/windows.ts'
import { html, type Child } from '../../../front/http/page/html.ts'
import { windows, type LimitsByName } from '../../../front/http/page/windows.ts'
import { fieldText } from './controls.ts'
import { limitFrom, writtenLimit } from './written-limit.ts'

/** The forms of a limit in a field. */
const forms =
  'a number, unlimited, or of days, weeks and months 1000..300%, which meters up to 3,000'

/** The members of a key that are limits by windows, and a plan itself, with the words above their fields. */
const legends = {
  limits: `Custom limits (override the plan): ${forms}`,
  cap: 'Cap: the most that this key alone may use of its account',
  plan: `Limits: ${forms}; without any, they are set per key`,
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
              defaultValue=${writtenLimit(limits[limit])}
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
): Partial<Record<typeof of, Readonly<Partial<Record<LimitName, unknown>>>>> {
  const changed = windows.flatMap(({ limit }) => {
    const name = `${of}.${limit}`
    const text = fieldText(form, name)
    const isChanged = form.has(name) && text !== writtenLimit(before[limit])
    const value = text === '' ? null : (limitFrom(text) ?? text)
    return isChanged ? [[limit, value] as const] : []
  })
  return changed.length > 0 ? { [of]: Object.fromEntries(changed) } : {}
}
