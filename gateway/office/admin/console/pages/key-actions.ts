import { useContext, useRef } from 'preact/hooks'
import { ask } from '../api.ts'
import { Operator } from '../data.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { windows } from '../../../../front/http/page/windows.ts'
import { ActionButton } from '../action-button.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'
import { ChangeKey } from './change-key.ts'
import { Rotate } from './make-key.ts'
import { field, fieldText, select } from '../controls.ts'

type ActionsProps = Readonly<{ details: KeyDetails; done: () => void }>

/** What is asked before an action: a word to type, or fields, and the body that they make. */
type Asked = Readonly<{ typed?: string; fields?: Child; body?: (form: FormData) => object }>

/** The actions that a role allows: the one that is needed now, the others in a menu, and the last one apart. */
export function Actions({ details, done }: ActionsProps) {
  const { id, name, state, bannedUntil, account, test, kind, standing } = details
  const menu = useRef<HTMLElement>(null)
  const shown = useRef('')
  const role = useContext(Operator)?.role
  const mayAll = role === 'all'
  if (role === 'read' || state === 'revoked') return null
  const act = (label: string, consequence: string, request: string, asked: Asked = {}) => {
    const { body, ...more } = asked
    const [method = '', path = ''] = request.split(' ')
    const send = (form: FormData): Promise<void> => ask(method, path, body?.(form)).then(done)
    return html`<${ActionButton} ...${{ label, consequence, ...more }} act=${send} />`
  }
  const isOwn = account === undefined || test
  const whose = isOwn
    ? 'its own counters'
    : `the counters of the account ${account}, for all of its keys`
  /** The receiver of points: a key with a quota of its own, or an account. */
  const getter = isOwn ? 'It' : `The account ${account}, with all of its keys,`
  const hasParts = standing.operations || standing.cap
  const limited = windows.flatMap((window) => standing[window.name] ?? [])
  const back = `“${name}” works again within a second`
  const actions: readonly (readonly [name: string, isOffered: boolean, action: Child])[] = [
    [
      'lift',
      bannedUntil !== undefined,
      act('Lift the ban', `${back}, on every gateway.`, `DELETE /admin/bans/${id}`),
    ],
    [
      'enable',
      mayAll && state === 'disabled',
      act('Enable', `${back}.`, `POST /admin/keys/${id}/enable`),
    ],
    ['change', mayAll, html`<${ChangeKey} details=${details} done=${done} />`],
    [
      'grant',
      limited.length > 0,
      act(
        'Grant more',
        `${getter} gets these requests on top of the limit, on every gateway within a second, until their window ends.${hasParts ? ' Operations and caps get none of them.' : ''}`,
        `POST /admin/quota/${id}/grant`,
        grant(standing),
      ),
    ],
    [
      'top-up',
      mayAll && limited.some(({ prepaid }) => prepaid),
      act(
        'Top up',
        `${getter} gets points that were bought in advance. What has the same invoice counts once.`,
        `POST /admin/quota/${id}/top-up`,
        topUp,
      ),
    ],
    [
      'reset',
      true,
      act(
        'Reset the quota',
        `This resets ${whose}: all of its windows${hasParts ? ', operations and caps' : ''} start over.`,
        `POST /admin/quota/${id}/reset`,
      ),
    ],
    [
      'ban',
      mayAll && bannedUntil === undefined,
      act(
        'Ban',
        `Every request of “${name}” gets 429, on every gateway within a second, until the ban ends or is lifted.`,
        `PUT /admin/bans/${id}`,
        ban,
      ),
    ],
    ['rotate', !kind, html`<${Rotate} id=${id} done=${done} />`],
    [
      'disable',
      mayAll && state !== 'disabled',
      act(
        'Disable',
        `Every request of “${name}” gets 401 until it is enabled again.`,
        `POST /admin/keys/${id}/disable`,
      ),
    ],
  ]
  const offered = actions.filter(([, isOffered]) => isOffered)
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
      .map(([name, , action]) => html`<div key=${name}>${action}</div>`)
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

const reason = field('Reason, for other operators', { name: 'note' })

function reasonIn(form: FormData) {
  return { note: fieldText(form, 'note') || undefined }
}

/** How long a ban may last. */
const spans = [
  ['30m', '30 minutes'],
  ['1h', 'an hour'],
  ['24h', 'a day'],
  ['7d', 'a week'],
] as const

const ban: Asked = {
  fields: [select('For', { name: 'for' }, spans), reason],
  body: (form) => ({ for: fieldText(form, 'for'), ...reasonIn(form) }),
}

const topUp: Asked = {
  fields: [
    field('Points', { name: 'points', inputmode: 'numeric', pattern: '[0-9]+', required: true }),
    field('Invoice, or what it is for', { name: 'id', required: true }),
    reason,
  ],
  body: (form) => ({
    points: Number(fieldText(form, 'points')),
    id: fieldText(form, 'id'),
    ...reasonIn(form),
  }),
}

/** More in the present windows of a key's quota: in those that have a limit. */
function grant(standing: KeyDetails['standing']): Asked {
  const limited = windows.filter(({ name }) => standing[name]).reverse()
  return {
    fields: [
      ...limited.map(({ limit, present }) =>
        field(`More for ${present.toLowerCase()}`, {
          name: limit,
          inputmode: 'numeric',
          pattern: '[0-9]*',
        }),
      ),
      reason,
    ],
    body: (form) => {
      const numbers = limited.flatMap(({ limit }) => {
        const text = fieldText(form, limit)
        return text === '' ? [] : [[limit, Number(text)] as const]
      })
      if (numbers.length === 0) throw new Error('Say how much more, and for which window.')
      return { ...Object.fromEntries(numbers), ...reasonIn(form) }
    },
  }
}
