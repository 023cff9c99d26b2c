import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { fieldText } from '../controls.ts'
import { useData } from '../data.ts'
import { FormDialog } from '../action-button.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import { plansIn } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
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
  const config = useData<RunningConfig>('/admin/config')
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
    fields=${html`<${KeyFields}
      account=${account}
      plans=${config.data ? plansIn(config.data.config) : []}
    />`}
    submit=${create}
    result=${
      key &&
      html`${key.warnings?.map((warning) => html`<p class="banner" role="status">${warning}</p>`)}
        <${Shown} token=${key.key} />`
    }
    closed=${close}
  />`
}

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
    fields=${html`
      <label
        >The present token works for another
        <select name="overlap">
          <option value="1h">hour</option>
          <option value="24h" selected>day</option>
          <option value="7d">week</option>
          <option value="0">no time at all</option>
        </select>
      </label>
    `}
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
