import { useState } from 'preact/hooks'
import { ActionButton } from '../action-button.ts'
import { refusalOf, send } from '../api.ts'
import { useData } from '../data.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { FleetView } from '../../../fleet/view.ts'
import type { SavedConfig } from '../../../operations/config/save.ts'
import type { ConfigText } from '../../../operations/config/save.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { Checked } from './check-result.ts'

type Props = Readonly<{
  file: string
  text: string
  /** The hash of the text that this one was made from. */
  over: string
  /** The number of settings that differ from those in force. */
  settings: number
  /** Whether the text may be saved now; it may unless told. */
  isOffered?: boolean
  /** The page that shows what the change does. */
  watch?: string
  saved?: (hash: string) => void
}>

/** Saves a text as the gateway's file, and then says when all gateways go by it. */
export function SaveFile({ file, text, over, settings, isOffered = true, watch, saved }: Props) {
  const [last, setLast] = useState<Readonly<{ text: string; hash: string }>>()
  const save = async (): Promise<void> => {
    const answer = await send('PUT', '/admin/config/file', { body: text, ifMatch: over })
    if (!answer.ok) throw await refusalOf(answer)
    const { hash } = (await answer.json()) as SavedConfig
    setLast({ text, hash })
    saved?.(hash)
  }
  if (last?.text === text)
    return html`<${InForce} key=${last.hash} hash=${last.hash} watch=${watch} />`
  if (!isOffered) return null
  return html`<${ActionButton}
    label="Save"
    consequence=${consequenceOf(file, over, settings)}
    act=${save}
  />`
}

/** The effect of saving, told beforehand. */
function consequenceOf(file: string, over: string, settings: number): string {
  const changes =
    settings === 0
      ? 'No setting changes'
      : `${settings} ${settings === 1 ? 'setting changes' : 'settings change'} at once, for all new requests`
  return `Writes ${file} on the gateway’s machine, in place of the version ${over}. ${changes}. If the file has changed meanwhile, nothing is written.`
}

/** Follows a configuration to every gateway. */
function InForce({ hash, watch }: { hash: string; watch: string | undefined }) {
  const { data } = useData<FleetView>('/admin/gateways', 1_000)
  const all = data?.gateways.filter(({ config }) => config !== null) ?? []
  const behind = all.filter(({ config }) => config?.hash !== hash)
  const isEverywhere = all.length > 0 && behind.length === 0
  const status = isEverywhere
    ? 'Every gateway runs it.'
    : `Not yet: ${behind.map(({ name }) => name).join(', ') || 'asking the gateways'}.`
  return html`
    <p class=${isEverywhere ? 'banner good' : 'banner'} role="status">
      ${`Saved as ${hash}. ${status}`}
      ${watch !== undefined && html`<a href=${watch}>${' Watch the effect'}</a>`}
    </p>
  `
}

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
          />
          <${SaveFile}
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
