import { useEffect, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import type { CheckedConfig } from '../../../operations/config/check.ts'

/** How long a check waits after the last key. */
const pauseMs = 400

/** The check of a text; `text` is what it is about, which may be an earlier one. */
export type Checked = Readonly<{ text: string; result?: CheckedConfig; error?: string }>

/** Checks a text as soon as typing stops. */
export function useCheck(text: string): Checked | undefined {
  const [checked, setChecked] = useState<Checked>()
  useEffect(() => {
    if (text.trim() === '') return setChecked(undefined)
    const leaving = new AbortController()
    const check = (): void => {
      const { signal } = leaving
      ask<CheckedConfig>('POST', '/admin/config/check', text, signal).then(
        (result) => setChecked({ text, result }),
        (thrown: unknown) => {
          if (signal.aborted) return
          setChecked({ text, error: thrown instanceof Error ? thrown.message : String(thrown) })
        },
      )
    }
    const timer = setTimeout(check, pauseMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [text])
  return checked
}
