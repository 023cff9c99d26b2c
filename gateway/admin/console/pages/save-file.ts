import { useState } from 'preact/hooks'
import { refusalOf, send } from '../api.ts'
import { useData } from '../data.ts'
import { html } from '../html.ts'
import { ActionButton } from '../parts.ts'
import type { ConfigInForce, Fleet } from '../views.ts'

type Props = Readonly<{
  file: string
  text: string
  /** The hash of the text that this one was made from. */
  over: string
  /** The page that shows what the change does. */
  watch?: string
  saved?: (inForce: ConfigInForce) => void
}>

/** Saves a text as the gateway's file, and then says when all gateways go by it. */
export function SaveFile({ file, text, over, watch, saved }: Props) {
  const [hash, setHash] = useState<string>()
  const save = async (): Promise<void> => {
    const answer = await send('PUT', '/admin/config/file', { body: text, ifMatch: over })
    if (!answer.ok) throw await refusalOf(answer)
    const inForce = (await answer.json()) as ConfigInForce
    setHash(inForce.hash)
    saved?.(inForce)
  }
  if (hash !== undefined) return html`<${InForce} hash=${hash} watch=${watch} />`
  return html`<${ActionButton}
    label="Save"
    consequence=${`This writes ${file} and puts it in force at once, without losing a request. A file that somebody else has changed meanwhile stays.`}
    act=${save}
  />`
}

/** Follows a configuration to every gateway. */
export function InForce({ hash, watch }: { hash: string; watch?: string | undefined }) {
  const { data } = useData<Fleet>('/admin/gateways', 1_000)
  const all = data?.gateways.filter(({ config }) => config !== null) ?? []
  const behind = all.filter(({ config }) => config?.hash !== hash)
  return html`
    <p class=${behind.length === 0 ? 'banner good' : 'banner'} role="status">
      ${
        behind.length === 0
          ? `Saved as ${hash}. Every gateway goes by it.`
          : `Saved as ${hash}. Not yet: ${behind.map(({ name }) => name).join(', ')}.`
      }
      ${watch !== undefined && html`<a href=${watch}>${' Watch what it does'}</a>`}
    </p>
  `
}
