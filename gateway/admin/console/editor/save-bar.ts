import { useState } from 'preact/hooks'
import { refusalOf, send } from '../api.ts'
import { html } from '../html.ts'
import { InForce } from '../pages/save-file.ts'
import { ActionButton } from '../parts.ts'
import type { ConfigInForce, ConfigText } from '../views.ts'
import type { Checked } from './use-check.ts'

type SaveBarProps = Readonly<{
  config: ConfigInForce
  /** The file as it was read; `undefined` where it may not be. */
  read: ConfigText | undefined
  text: string
  checked: Checked | undefined
  load: () => Promise<void>
  saved: (hash: string) => void
}>

/** Copies the text, starts over from the file, and saves it where it may be saved. */
export function SaveBar({ config, read, text, checked, load, saved }: SaveBarProps) {
  const [copied, setCopied] = useState('')
  const [savedHash, setSavedHash] = useState<string>()
  const isChanged = read !== undefined && text !== read.text
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => setCopied(text))
  const save = async (): Promise<void> => {
    const answer = await send('PUT', '/admin/config/file', {
      body: text,
      ifMatch: read?.hash ?? '',
    })
    if (!answer.ok) throw await refusalOf(answer)
    const { hash } = (await answer.json()) as { hash: string }
    setSavedHash(hash)
    saved(hash)
  }
  const why = read && isChanged ? whyNot(config, text, checked) : undefined
  return html`
    <div class="tools">
      <button type="button" disabled=${text === ''} onClick=${copy}>
        ${copied === text && text !== '' ? 'Copied' : 'Copy'}
      </button>
      ${
        read &&
        html`<${ActionButton}
          label="Start over"
          consequence=${isChanged ? 'Your changes in this field are lost; the file stays as it is.' : 'The field shows the file as it is now.'}
          act=${load}
        />`
      }
      ${
        read &&
        isChanged &&
        why === undefined &&
        html`<${ActionButton}
          label="Save"
          consequence=${consequenceOf(config, read, checked)}
          act=${save}
        />`
      }
    </div>
    ${why !== undefined && html`<p class="banner">This can’t be saved here: ${why}</p>`}
    ${savedHash !== undefined && !isChanged && html`<${InForce} key=${savedHash} hash=${savedHash} />`}
  `
}

/** Why a text can't be saved now; `undefined` if it can. */
function whyNot(
  { unsavable }: ConfigInForce,
  text: string,
  checked: Checked | undefined,
): string | undefined {
  if (unsavable !== null) return `${unsavable}. Copy it instead.`
  if (checked?.of !== text) return 'it is being checked.'
  const { result, error } = checked
  if (!result) return error
  if (!result.sound) return 'it has mistakes.'
  const fixed = result.differences.filter(({ needsRestart }) => needsRestart)
  if (fixed.length === 0) return undefined
  return `${fixed.map(({ place }) => place).join(', ')} can’t change while the gateway runs. Copy it instead.`
}

/** What saving will do, told beforehand. */
function consequenceOf(
  { file }: ConfigInForce,
  { hash }: ConfigText,
  checked: Checked | undefined,
): string {
  const count = checked?.result?.differences.length ?? 0
  const changes =
    count === 0
      ? 'No setting changes'
      : `${count} ${count === 1 ? 'setting changes' : 'settings change'} at once, for all new requests`
  return `Writes ${file} on the gateway’s machine, in place of the version ${hash}. ${changes}. If the file has changed meanwhile, nothing is written.`
}
