import { ask, type Session } from '../api.ts'
import { html } from '../../../../front/http/page/html.ts'
import { ActionButton, type Action } from '../action-button.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'
import { ChangeKey } from './change-key.ts'
import { Grant } from './grant.ts'
import { Rotate } from './rotate.ts'

type ActionsProps = { details: KeyDetails; session: Session; done: () => void }

/** The actions that a role allows: each tells what will happen before it does. */
export function Actions({ details, session, done }: ActionsProps) {
  const { id, name, state, bannedUntil, account, test, kind, standing } = details
  const path = `/admin/keys/${id}`
  const act = (method: string, target: string, body?: unknown) => async (): Promise<void> => {
    await ask(method, target, body)
    done()
  }
  const whose =
    account === undefined || test
      ? 'its own counters'
      : `the counters of the account ${account}, which its other keys share`
  const others = standing.operations || standing.cap ? ', operations and caps' : ''
  const support: Action[] = [
    ...(bannedUntil === undefined
      ? []
      : [
          {
            label: 'Lift the ban',
            consequence: `“${name}” is let in again within a second, on every gateway.`,
            act: act('DELETE', `/admin/bans/${id}`),
          },
        ]),
    {
      label: 'Reset the quota',
      consequence: `This empties ${whose}: all of its windows${others} begin anew.`,
      act: act('POST', `/admin/quota/${id}/reset`),
    },
  ]
  const all: Action[] =
    state === 'revoked'
      ? []
      : [
          state === 'disabled'
            ? {
                label: 'Enable',
                consequence: `“${name}” is let in again within a second.`,
                act: act('POST', `${path}/enable`),
              }
            : {
                label: 'Disable',
                consequence: `Every request of “${name}” gets 401 until it is enabled again.`,
                act: act('POST', `${path}/disable`),
              },
          {
            label: 'Revoke',
            consequence: `“${name}” ends for good: it can’t be enabled again, and its tokens never work again.`,
            typed: name,
            act: act('POST', `${path}/revoke`),
          },
        ]
  const shown = [
    ...(session.role === 'read' ? [] : support),
    ...(session.role === 'all' ? all : []),
  ]
  if (session.role === 'read') return null
  return html`
    <div class="tools" role="group" aria-label="What can be done">
      ${shown.map((action) => html`<${ActionButton} key=${action.label} ...${action} />`)}
      ${state !== 'revoked' && html`<${Grant} details=${details} done=${done} />`}
      ${state !== 'revoked' && !kind && html`<${Rotate} id=${id} done=${done} />`}
      ${
        state !== 'revoked' &&
        session.role === 'all' &&
        html`<${ChangeKey} details=${details} done=${done} />`
      }
    </div>
  `
}
