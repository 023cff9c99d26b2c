import { ask } from '../api.ts'
import { field, fieldText, planField, timeField } from '../controls.ts'
import { ActionButton } from '../action-button.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'
import { html } from '../../../../front/http/page/html.ts'
import { usePlans } from '../data.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'

/** Changes the plan or the limits of a key, its cap, its end and its note. */
export function ChangeKey({ details: key, done }: { details: KeyDetails; done: () => void }) {
  const hasCap = key.account !== undefined && !key.test
  const plans = usePlans()
  const act = async (form: FormData): Promise<void> => {
    await ask('PATCH', `/admin/keys/${key.id}`, changeOf(key, form))
    done()
  }
  return html`<${ActionButton}
    label="Change plan or limits"
    consequence=${`This applies to “${key.name}” within a second, on every gateway. Its usage stays counted.`}
    act=${act}
    fields=${html`
      ${
        // The plan of a caller with JWTs comes with these.
        key.kind === undefined && planField(plans, key.plan)
      }
      ${limitFields('limits', key.limits)} ${hasCap && limitFields('cap', key.cap)}
      ${timeField('Expires at (UTC); empty: never', 'expiresAt', minuteOf(key.expiresAt))}
      ${field('Reference', { name: 'reference', defaultValue: key.reference })}
      ${field('Note', { name: 'note', defaultValue: key.note })}
    `}
  />`
}

/** The change of a key that a form asks for: an empty field takes a setting away, unchanged ones are left out. */
function changeOf(
  { plan, limits, cap, expiresAt, reference = '', note = '' }: KeyDetails,
  form: FormData,
): object {
  const [newPlan, newNote, newReference, end] = ['plan', 'note', 'reference', 'expiresAt'].map(
    (name) => fieldText(form, name),
  )
  const change = {
    ...(newPlan === plan || !form.has('plan') ? {} : { plan: newPlan }),
    ...limitsIn(form, 'limits', limits),
    ...limitsIn(form, 'cap', cap),
    ...(newNote === note ? {} : { note: newNote || null }),
    ...(newReference === reference ? {} : { reference: newReference || null }),
    ...(end === minuteOf(expiresAt) ? {} : { expiresAt: end ? `${end}Z` : null }),
  }
  if (Object.keys(change).length === 0) throw new Error('Nothing is changed.')
  return change
}

/** A time as its field has it. */
function minuteOf(iso = ''): string {
  return iso.slice(0, 16)
}
