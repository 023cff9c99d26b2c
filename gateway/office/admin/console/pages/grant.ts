import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { FormDialog } from '../action-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import { windows } from '../../../../front/http/page/windows.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'

/** Adds points to the present windows of a key's quota: to those that have a limit. */
export function Grant({ details, done }: { details: KeyDetails; done: () => void }) {
  const { id, account, test, standing } = details
  const limited = windows.filter(({ name }) => standing[name]).reverse()
  const whose =
    account === undefined || test ? 'It' : `The account ${account}, with all of its keys,`
  const others = standing.operations || standing.cap ? ' Operations and caps get none of them.' : ''
  const submit = async (form: FormData): Promise<void> => {
    await ask('POST', `/admin/quota/${id}/grant`, grantIn(form))
    done()
  }
  return html`<${FormDialog}
    label="Grant more"
    consequence=${`${whose} gets these requests on top of the limit, on every gateway within a second, until their window ends.${others}`}
    submit=${submit}
    fields=${html`
      ${limited.map(
        ({ limit, present }) => html`
          <label
            >More for ${present.toLowerCase()}
            <input name=${limit} inputmode="numeric" pattern="[0-9]*" autocomplete="off" />
          </label>
        `,
      )}
      <label>Reason, for other operators <input name="note" autocomplete="off" /></label>
    `}
  />`
}

function grantIn(form: FormData): object {
  const numbers = windows.flatMap(({ limit }) => {
    const text = fieldText(form, limit)
    return text === '' ? [] : [[limit, Number(text)] as const]
  })
  if (numbers.length === 0) throw new Error('Say how much more, and for which window.')
  const note = fieldText(form, 'note')
  return { ...Object.fromEntries(numbers), ...(note === '' ? {} : { note }) }
}
