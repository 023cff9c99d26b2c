import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '../../../front/http/page/html.ts'

/** The place in the browser's storage that says whether single keys do nothing here. */
const offName = 'tollgate-console-keys-off'

function areOff(): boolean {
  return localStorage.getItem(offName) !== null
}

/** `/` searches, `?` lists the shortcuts; both only outside of fields, and unless they are turned off. */
function useShortcuts(help: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, textarea, select, dialog')
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || areOff()) return
      if (event.key === '/') {
        event.preventDefault()
        document.querySelector<HTMLInputElement>('#search')?.focus()
      } else if (event.key === '?') help()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/**
 * The shortcuts of the console, and the button that shows them. People who speak to their computer, or
 * whose hands shake, can turn single keys off.
 */
export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isOff, setOff] = useState(areOff)
  const open = (): void => {
    // Another tab may have turned them.
    setOff(areOff())
    if (!dialog.current?.open) dialog.current?.showModal()
  }
  useShortcuts(open)
  const turn = (event: Event): void => {
    const isOn = (event.target as HTMLInputElement).checked
    if (isOn) localStorage.removeItem(offName)
    else localStorage.setItem(offName, 'yes')
    setOff(!isOn)
  }
  return html`
    <button type="button" class="link" onClick=${open}>Shortcuts</button>
    <dialog ref=${dialog} aria-label="Shortcuts">
      <h2>Shortcuts</h2>
      <dl class="facts">
        <dt><kbd>/</kbd></dt>
        <dd>search for a key, a request or a token</dd>
        <dt><kbd>?</kbd></dt>
        <dd>this list</dd>
        <dt><kbd>Esc</kbd></dt>
        <dd>close a dialog</dd>
      </dl>
      <p>
        <label class="inline">
          <input type="checkbox" checked=${!isOff} onChange=${turn} />
          Single-key shortcuts work in this browser
        </label>
      </p>
      <form method="dialog" class="buttons"><button>Close</button></form>
    </dialog>
  `
}
