import { useEffect, useRef } from 'preact/hooks'
import type { ConfigText } from '../../../operations/config/file.ts'

/** The text being typed, and the file that it was made from, where that may be read. */
export type Draft = Readonly<{ read: ConfigText | undefined; text: string }>

/** The draft of a session: other pages don't end it, and a tab that is closed with one asks first. */
export type KeptDraft = { current: Draft }

/** Keeps the draft while the console is open. It may hold secrets, so no storage has it. */
export function useDraft(): KeptDraft {
  const draft = useRef<Draft>({ read: undefined, text: '' })
  useEffect(() => {
    const ask = (event: Event): void => {
      if (isChanged(draft.current)) event.preventDefault()
    }
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [])
  return draft
}

/** Whether a draft has more than the file. */
export function isChanged({ read, text }: Draft): boolean {
  return text !== (read?.text ?? '')
}
