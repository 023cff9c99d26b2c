import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { fieldText, select } from '../controls.ts'
import { FormDialog } from '../action-button.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import { usePlans } from '../settings.ts'
import type { MadeKey } from '../../../operations/keys/create.ts'
import type { RotatedKey } from '../../../operations/keys/rotate.ts'
import { KeyFields, settingsIn } from './key-fields.ts'

type MakeProps = Readonly<{
  made: () => void
  /** The account that its form has at first. */
  account?: string
  isMain?: boolean
}>

/** Makes a key. Its token is in this dialog until it is closed, and nowhere else. */
export function MakeKey({ made, account, isMain }: MakeProps) {
  const plans = usePlans()
  const [key, setKey] = useState<MadeKey>()
  const create = async (form: FormData): Promise<void> => {
    setKey(await ask<MadeKey>('POST', '/admin/keys', settingsIn(form)))
  }
  const close = (): void => {
    if (key) made()
    setKey(undefined)
  }
  return html`<${FormDialog}
    label="Create key"
    isMain=${isMain}
    fields=${html`<${KeyFields} account=${account} plans=${plans} />`}
    submit=${create}
    result=${
      key &&
      html`${key.warnings?.map((warning) => html`<p class="banner" role="status">${warning}</p>`)}
        <${Shown} token=${key.key} />`
    }
    closed=${close}
  />`
}

/** How long a token that was replaced may work on. */
const overlaps = [
  ['1h', 'hour'],
  ['24h', 'day'],
  ['7d', 'week'],
  ['0', 'no time at all'],
] as const

/** Gives a key a new token, and shows it this once. */
export function Rotate({ id, done }: { id: string; done: () => void }) {
  const [token, setToken] = useState<string>()
  const rotate = async (form: FormData): Promise<void> => {
    const overlap = fieldText(form, 'overlap')
    const { key } = await ask<RotatedKey>('POST', `/admin/keys/${id}/rotate`, { overlap })
    setToken(key)
  }
  const close = (): void => {
    if (token !== undefined) done()
    setToken(undefined)
  }
  return html`<${FormDialog}
    label="Rotate the token"
    go="Rotate"
    consequence="The key gets a new token. The present one works on for a while, so that its owner can change it."
    fields=${select('The present token works for another', { name: 'overlap' }, overlaps, '24h')}
    submit=${rotate}
    result=${token !== undefined && html`<${Shown} token=${token} />`}
    closed=${close}
  />`
}

/** A token, this once. */
function Shown({ token }: { token: string }) {
  return html`
    <p>Copy the token now and share it securely: it isn’t shown again.</p>
    <p class="token"><code>${token}</code></p>
    <p><${CopyButton} text=${token} label="Copy" class="go" /></p>
  `
}
