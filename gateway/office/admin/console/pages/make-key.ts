import { useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { useData } from '../data.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html } from '../../../../front/http/page/html.ts'
import { plansIn } from '../settings.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import type { MadeKey } from '../../../operations/keys/create.ts'
import { useWork } from '../button-work.ts'
import { KeyForm } from './key-form.ts'

/** Makes a key. Its token is in this dialog until it is closed, and nowhere else. */
export function MakeKey({ made }: { made: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const config = useData<RunningConfig>('/admin/config')
  const [key, setKey] = useState<MadeKey>()
  const [openings, setOpenings] = useState(0)
  const work = useWork()
  const create = (settings: object): void => {
    void work.run(async () => setKey(await ask<MadeKey>('POST', '/admin/keys', settings)))
  }
  const open = (): void => {
    work.forget()
    setOpenings(openings + 1)
    dialog.current?.showModal()
  }
  const close = (): void => {
    if (!key) return
    made()
    setKey(undefined)
  }
  return html`
    <button type="button" onClick=${open}>Make a key</button>
    <dialog ref=${dialog} aria-label="Make a key" onClose=${close}>
      <h2>Make a key</h2>
      ${
        key
          ? html`${key.warnings?.map((warning) => html`<p class="banner" role="status">${warning}</p>`)}
              <${Shown} token=${key.key} />
              <form method="dialog" class="buttons"><button>Done</button></form>`
          : html`<${KeyForm}
              key=${openings}
              plans=${config.data ? plansIn(config.data.config) : []}
              work=${work}
              create=${create}
              cancel=${() => dialog.current?.close()}
            />`
      }
    </dialog>
  `
}

/** A token, this once. */
export function Shown({ token }: { token: string }) {
  return html`
    <p>Its token is shown this once. Give it to its owner by a safe way:</p>
    <p class="token"><code>${token}</code></p>
    <p><${CopyButton} text=${token} label="Copy" class="go" /></p>
  `
}
