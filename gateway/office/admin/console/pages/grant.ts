import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { FormDialog } from '../form-dialog.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'

/** Adds points to this day or minute of a key's quota. */
export function Grant({ details, done }: { details: KeyDetails; done: () => void }) {
  const { id, account, test } = details
  const whose =
    account === undefined || test ? 'It' : `The account ${account}, with all of its keys,`
  const submit = async (form: FormData): Promise<void> => {
    await ask('POST', `/admin/quota/${id}/grant`, grantIn(form))
    done()
  }
  return html`<${FormDialog}
    label="Grant more"
    consequence=${`${whose} gets these requests on top of the limit, on every gateway within a second, until the day or the minute ends.`}
    submit=${submit}
    fields=${html`
      <label
        >More for today
        <input name="perDay" inputmode="numeric" pattern="[0-9]*" autocomplete="off" />
      </label>
      <label
        >More for this minute
        <input name="perMinute" inputmode="numeric" pattern="[0-9]*" autocomplete="off" />
      </label>
      <label>Why, for other operators <input name="note" autocomplete="off" /></label>
    `}
  />`
}

function grantIn(form: FormData): object {
  const numbers = ['perDay', 'perMinute'].flatMap((name) => {
    const text = fieldText(form, name)
    return text === '' ? [] : [[name, Number(text)] as const]
  })
  if (numbers.length === 0) throw new Error('Say how much more: for today, this minute or both.')
  const note = fieldText(form, 'note')
  return { ...Object.fromEntries(numbers), ...(note === '' ? {} : { note }) }
}
