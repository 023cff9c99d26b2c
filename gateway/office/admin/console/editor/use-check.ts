import { useEffect, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { messageOf } from '../../../../front/http/page/format.ts'
import type { CheckedConfig } from '../../../operations/config/check.ts'

/** How long a check waits after the last key. */
const pauseMs = 400

/** A check that takes longer says so. */
const quickMs = 300

/** The check of a text; `text` is what it is about, which may be an earlier one. */
export type Checked = Readonly<{ text: string; result?: CheckedConfig; error?: string }>

/** Checks a text as soon as typing stops. `isSlow`: the one that runs takes long. */
export function useCheck(text: string): Readonly<{ checked?: Checked; isSlow: boolean }> {
  const [state, setState] = useState<ReturnType<typeof useCheck>>({ isSlow: false })
  useEffect(() => {
    if (text.trim() === '') return setState({ isSlow: false })
    const leaving = new AbortController()
    const { signal } = leaving
    let timer: ReturnType<typeof setTimeout>
    const tell = (news: Omit<Checked, 'text'>): void => {
      clearTimeout(timer)
      if (!signal.aborted) setState({ checked: { text, ...news }, isSlow: false })
    }
    const check = (): void => {
      timer = setTimeout(() => setState((before) => ({ ...before, isSlow: true })), quickMs)
      ask<CheckedConfig>('POST', '/admin/config/check', text, signal).then(
        (result) => tell({ result }),
        (thrown: unknown) => tell({ error: messageOf(thrown) }),
      )
    }
    timer = setTimeout(check, pauseMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [text])
  return state
}
