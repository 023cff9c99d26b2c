import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { useData } from '../data.ts'
import { FormDialog } from '../form-dialog.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'
import { html } from '../../../../front/http/page/html.ts'
import { plansIn } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'

/** Changes the plan or the limits of a key, for good or until a time, and its note. */
export function ChangeKey({ details, done }: { details: KeyDetails; done: () => void }) {
  const { id, name, plan, limits = {}, note = '' } = details
  const config = useData<RunningConfig>('/admin/config')
  const plans = config.data ? plansIn(config.data.config) : []
  const submit = async (form: FormData): Promise<void> => {
    await ask('PATCH', `/admin/keys/${id}`, changeOf(details, form))
    done()
  }
  return html`<${FormDialog}
    label="Change plan or limits"
    consequence=${`“${name}” goes by it within a second, on every gateway. What it has used stays counted.`}
    submit=${submit}
    fields=${html`
      <label
        >Plan
        <select name="plan">
          ${plans.map((each) => html`<option value=${each.name} selected=${each.name === plan}>${each.name}</option>`)}
        </select>
      </label>
      ${limitFields(limits)}
      <label
        >Until this time in UTC, then as before; empty for good
        <input name="until" type="datetime-local" />
      </label>
      <label>Note <input name="note" defaultValue=${note} autocomplete="off" /></label>
    `}
  />`
}

/** The change of a key that a form asks for: an empty field takes a setting away, unchanged ones are left out. */
function changeOf({ plan, limits = {}, note = '' }: KeyDetails, form: FormData): object {
  const untilText = fieldText(form, 'until')
  const until = untilText === '' ? {} : { until: `${untilText}Z` }
  const changed = limitsIn(form).filter(([name, value]) => value !== (limits[name] ?? null))
  const isOtherPlan = fieldText(form, 'plan') !== plan
  const change = {
    ...(isOtherPlan ? { plan: fieldText(form, 'plan'), ...until } : {}),
    ...(changed.length > 0 ? { limits: { ...Object.fromEntries(changed), ...until } } : {}),
    ...(fieldText(form, 'note') === note ? {} : { note: fieldText(form, 'note') || null }),
  }
  if (Object.keys(change).length === 0) throw new Error('Nothing is changed.')
  if (untilText !== '' && !isOtherPlan && changed.length === 0) {
    throw new Error('A plan or a limit can end at a time: change one of them, too.')
  }
  return change
}
