import { html, type Child } from '../../../front/http/page/html.ts'
import { windows, type LimitsByName } from '../../../front/http/page/windows.ts'
import { field, fieldText } from './controls.ts'
import { atOnceFrom, limitFrom, writtenLimit } from './written-limit.ts'

/** The forms of a limit in a field. */
export const forms =
  'a number, unlimited, or of days, weeks and months 1000..300%, which meters up to 3,000'

/** The members of a key that are limits, and a plan itself, with the words above their fields. */
const legends: Readonly<Record<string, string>> = {
  limits: `Custom limits (override the plan): ${forms}`,
  cap: 'Cap: the most that this key alone may use of its account',
  plan: `Limits: ${forms}; without any, they are set per key`,
}

/** How many requests may be under way, beside the limits of windows. */
const atOnce = { limit: 'atOnce', heading: 'At once' } as const
const fields = [...windows, atOnce]

/** A field for the limit of each window and for requests at once, or for these alone. */
export function limitFields(
  of: string,
  limits: LimitsByName = {},
  legend: Child = legends[of],
  shown: readonly (typeof fields)[number][] = fields,
): Child {
  return html`
    <fieldset class="limits">
      <legend>${legend}</legend>
      ${shown.map(({ limit, heading }) => limitField(heading, { name: `${of}.${limit}`, defaultValue: writtenLimit(limits[limit]) }))}
    </fieldset>
  `
}

/** A field for one limit. */
export function limitField(heading: string, attributes: Readonly<Record<string, unknown>>): Child {
  return field(heading, { class: 'short', ...attributes })
}

/** A field for the requests of a plan that may be under way. */
export function atOnceField(of: string, limits: LimitsByName): Child {
  const legend = 'In flight at once: a number, unlimited, or such as 20, linger 2s'
  return limitFields(of, limits, legend, [atOnce])
}

/**
 * The limits in a form that differ from those before, as a member of what is sent; none of a form without their fields.
 * `null` is for an empty field. What isn't a limit is sent as it is, and refused.
 */
export function limitsIn<Of extends string>(
  form: FormData,
  of: Of,
  before: LimitsByName = {},
): Partial<Record<Of, Readonly<Record<string, unknown>>>> {
  const changed = fields.flatMap(({ limit }) => {
    const name = `${of}.${limit}`
    const text = fieldText(form, name)
    const isChanged = form.has(name) && text !== writtenLimit(before[limit])
    const read = limit === 'atOnce' ? atOnceFrom : limitFrom
    return isChanged ? [[limit, text === '' ? null : (read(text) ?? text)] as const] : []
  })
  return (changed.length > 0 ? { [of]: Object.fromEntries(changed) } : {}) as ReturnType<
    typeof limitsIn<Of>
  >
}
