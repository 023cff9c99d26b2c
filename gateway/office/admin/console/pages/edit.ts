import { useState } from 'preact/hooks'
import { useMayAll, usePosted } from '../data.ts'
import { patch } from '../editor/check-result.ts'
import { SaveFile } from '../editor/save.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import { failure, withMore } from '../page-parts.ts'
import type { EditedConfig } from '../../../operations/config/edit.ts'

type Props = Readonly<{
  /** New values by their places, such as `plans.free.perMinute`. */
  set: Readonly<Record<string, unknown>>
  /** The page that shows what the change does. */
  watch?: string
}>

/** A button that shows a change of the file. */
export function EditButton({ label, ...edit }: Props & Readonly<{ label: string }>) {
  const [isOpen, setOpen] = useState(false)
  return html`
    <p>
      <button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        ${label}
      </button>
    </p>
    ${isOpen && html`<${Edit} ...${edit} />`}
  `
}

/** A change of the configuration's file: its lines, checked; to be copied or, where that is allowed, saved. */
export function Edit({ set, watch }: Props) {
  const mayAll = useMayAll()
  const edited = usePosted<EditedConfig>('/admin/config/edit', mayAll ? { set } : undefined)
  if (!mayAll) return null
  if (edited.error) return failure(edited.error.message)
  if (!edited.data) return null
  const { file, diff, mistakes, more, warnings, text, hash } = edited.data
  if (diff === '') return html`<p class="quiet">${file} says so already.</p>`
  return html`
    <h3>The change of ${file}</h3>
    ${withMore(mistakes, more).map((each) => html`<p class="banner bad">${each}</p>`)}
    ${warnings.map((warning) => html`<p class="banner">${warning}</p>`)} ${patch(diff)}
    <div class="tools">
      <${CopyButton} key=${diff} text=${diff} label="Copy the patch" />
      ${
        text !== undefined &&
        // While others are typed, it is still about those before.
        edited.isOfIt &&
        mistakes.length === 0 &&
        html`<${SaveFile}
          key=${diff}
          file=${file}
          text=${text}
          over=${hash}
          settings=${Object.keys(set).length}
          watch=${watch}
        />`
      }
    </div>
  `
}
