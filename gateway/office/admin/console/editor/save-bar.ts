import { useState } from 'preact/hooks'
import { ActionButton } from '../action-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { ConfigText } from '../../../operations/config/save.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import { SaveFile } from './save-file.ts'
import type { Checked } from './check-result.ts'

type SaveBarProps = Readonly<{
  config: RunningConfig
  /** The file as it was read; `undefined` where it may not be. */
  read: ConfigText | undefined
  text: string
  checked: Checked
  load: () => Promise<void>
  saved: (hash: string) => void
}>

/** Copies the text, starts over from the file, and saves it where it may be saved. */
export function SaveBar({ config, read, text, checked, load, saved }: SaveBarProps) {
  const [copied, setCopied] = useState('')
  const isChanged = read !== undefined && text !== read.text
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => setCopied(text))
  const why = read && isChanged ? whyNot(config, checked) : undefined
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
        html`<${SaveFile}
          file=${config.file}
          text=${text}
          over=${read.hash}
          settings=${checked.data?.differences.length ?? 0}
          isOffered=${isChanged && why === undefined}
          saved=${saved}
        />`
      }
    </div>
    ${why && html`<p class="banner">This can’t be saved here: ${why}</p>`}
  `
}

/** Why a text can't be saved; empty until its check is there, `undefined` if it can. */
function whyNot({ unsavable }: RunningConfig, checked: Checked): string | undefined {
  if (unsavable !== null) return `${unsavable}. Copy it instead.`
  if (!checked.isOfIt) return ''
  const { data: result, error } = checked
  if (!result) return error?.message
  if (!result.sound) return 'it has mistakes.'
  const fixed = result.differences.filter(({ needsRestart }) => needsRestart)
  if (fixed.length === 0) return undefined
  return `${fixed.map(({ place }) => place).join(', ')} can’t change while the gateway runs. Copy it instead.`
}
