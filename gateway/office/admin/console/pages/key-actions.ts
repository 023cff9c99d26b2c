import { useRef } from 'preact/hooks'
import { ask, type Session } from '../api.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { windows } from '../../../../front/http/page/windows.ts'
import { ActionButton, FormDialog, type Action } from '../action-button.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'
import { ChangeKey } from './change-key.ts'
import { Rotate } from './make-key.ts'
import { fieldText } from '../controls.ts'

type ActionsProps = { details: KeyDetails; session: Session; done: () => void }

/** The actions that a role allows: the one that is needed now, the others in a menu, and the last one apart. */
export function Actions({ details, session, done }: ActionsProps) {
  const { id, name, state, bannedUntil, account, test, kind, standing } = details
  const menu = useRef<HTMLElement>(null)
  const shown = useRef('')
  const mayAll = session.role === 'all'
  if (session.role === 'read' || state === 'revoked') return null
  const act = (label: string, consequence: string, request: string, more?: Partial<Action>) => {
    const [method = '', path = ''] = request.split(' ')
    const send = (): Promise<void> => ask(method, path).then(done)
    return html`<${ActionButton} ...${{ label, consequence, ...more }} act=${send} />`
  }
  const whose =
    account === undefined || test
      ? 'its own counters'
      : `the counters of the account ${account}, for all of its keys`
  const others = standing.operations || standing.cap ? ', operations and caps' : ''
  const limited = windows.flatMap((window) => standing[window.name] ?? [])
  const actions: readonly (readonly [name: string, action: Child])[] = [
    [
      'lift',
      bannedUntil !== undefined &&
        act(
          'Lift the ban',
          `“${name}” works again within a second, on every gateway.`,
          `DELETE /admin/bans/${id}`,
        ),
    ],
    [
      'enable',
      mayAll &&
        state === 'disabled' &&
        act('Enable', `“${name}” works again within a second.`, `POST /admin/keys/${id}/enable`),
    ],
    ['change', mayAll && html`<${ChangeKey} details=${details} done=${done} />`],
    ['grant', limited.length > 0 && html`<${Grant} details=${details} done=${done} />`],
    [
      'top-up',
      mayAll &&
        limited.some(({ prepaid }) => prepaid) &&
        html`<${TopUp} details=${details} done=${done} />`,
    ],
    [
      'reset',
      act(
        'Reset the quota',
        `This resets ${whose}: all of its windows${others} start over.`,
        `POST /admin/quota/${id}/reset`,
      ),
    ],
    [
      'ban',
      mayAll && bannedUntil === undefined && html`<${Ban} details=${details} done=${done} />`,
    ],
    ['rotate', !kind && html`<${Rotate} id=${id} done=${done} />`],
    [
      'disable',
      mayAll &&
        state !== 'disabled' &&
        act(
          'Disable',
          `Every request of “${name}” gets 401 until it is enabled again.`,
          `POST /admin/keys/${id}/disable`,
        ),
    ],
  ]
  const offered = actions.filter(([, action]) => action)
  // A button whose dialog is open stays where it is.
  if (!document.querySelector('dialog[open]')) {
    const usedUp = limited.find(({ used, limit }) => used >= (limit ?? Infinity))
    const helps = usedUp && standing.offered && (usedUp.prepaid ? 'top-up' : 'grant')
    const isNeeded = ([name]: (typeof actions)[number]): boolean =>
      ['lift', 'enable'].includes(name) || name === helps
    shown.current = (offered.find(isNeeded) ?? offered[0])?.[0] ?? ''
  }
  const part = (isShown: boolean): Child =>
    offered
      .filter(([name]) => (name === shown.current) === isShown)
      .map(([name, action]) => html`<div key=${name}>${action}</div>`)
  return html`
    <div class="tools actions" role="group" aria-label="What can be done">
      ${part(true)}
      <button type="button" popovertarget="actions">More</button>
      <div
        id="actions"
        popover="auto"
        ref=${menu}
        onCloseCapture=${() => menu.current?.hidePopover()}
      >
        ${part(false)}
      </div>
      ${
        mayAll &&
        html`<div class="apart">
          ${act(
            'Revoke',
            `“${name}” is revoked for good: it can’t be enabled again, and its tokens never work again.`,
            `POST /admin/keys/${id}/revoke`,
            { typed: name },
          )}
        </div>`
      }
    </div>
  `
}

/** Refuses a key for a while. */
function Ban({ details: { id, name }, done }: { details: KeyDetails; done: () => void }) {
  const submit = async (form: FormData): Promise<void> => {
    const note = fieldText(form, 'note') || undefined
    await ask('PUT', `/admin/bans/${id}`, { for: fieldText(form, 'for'), note })
    done()
  }
  return html`<${FormDialog}
    label="Ban"
    consequence=${`Every request of “${name}” gets 429, on every gateway within a second, until the ban ends or is lifted.`}
    submit=${submit}
    fields=${html`
      <label
        >For
        <select name="for">
          <option value="30m">30 minutes</option>
          <option value="1h">an hour</option>
          <option value="24h">a day</option>
          <option value="7d">a week</option>
        </select>
      </label>
      <label>Reason, for other operators <input name="note" autocomplete="off" /></label>
    `}
  />`
}

/** Adds points that were bought. */
function TopUp({ details, done }: { details: KeyDetails; done: () => void }) {
  const { id, account, test } = details
  const whose =
    account === undefined || test ? 'It' : `The account ${account}, with all of its keys,`
  const submit = async (form: FormData): Promise<void> => {
    await ask('POST', `/admin/quota/${id}/top-up`, {
      points: Number(fieldText(form, 'points')),
      id: fieldText(form, 'id'),
      note: fieldText(form, 'note') || undefined,
    })
    done()
  }
  return html`<${FormDialog}
    label="Top up"
    consequence=${`${whose} gets points that were bought in advance. What has the same invoice counts once.`}
    submit=${submit}
    fields=${html`
      <label
        >Points
        <input name="points" inputmode="numeric" pattern="[0-9]+" required autocomplete="off" />
      </label>
      <label>Invoice, or what it is for <input name="id" required autocomplete="off" /></label>
      <label>Reason, for other operators <input name="note" autocomplete="off" /></label>
    `}
  />`
}

/** Adds points to the present windows of a key's quota: to those that have a limit. */
function Grant({ details, done }: { details: KeyDetails; done: () => void }) {
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
