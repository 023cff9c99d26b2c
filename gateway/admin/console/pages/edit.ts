import { useEffect, useState } from 'preact/hooks'
import { ApiError, ask, type Session } from '../api.ts'
import { html, type Child } from '../html.ts'
import { failure } from '../parts.ts'
import type { Edited } from '../views.ts'

type Props = Readonly<{
  /** New values by their places, such as `plans.free.perMinute`. */
  set: Readonly<Record<string, unknown>>
  session: Session
  /** The page that shows what a change does. */
  watch?: string
}>

/** A change of the configuration's file: its lines, checked, to be copied. */
export function Edit({ set, session }: Props) {
  const [edited, setEdited] = useState<Edited>()
  const [error, setError] = useState<string>()
  const body = JSON.stringify({ set })
  useEffect(() => {
    if (session.role !== 'all') return
    setError(undefined)
    ask<Edited>('POST', '/admin/config/edit', { set }).then(setEdited, (thrown: unknown) => {
      setEdited(undefined)
      setError(thrown instanceof ApiError ? thrown.message : String(thrown))
    })
  }, [body, session.role])
  if (session.role !== 'all') return null
  if (error !== undefined) return failure({ message: error })
  if (!edited) return null
  return html`
    <h3>The change of ${edited.file}</h3>
    ${edited.mistakes.map((mistake) => html`<p class="banner bad">${mistake}</p>`)}
    ${edited.warnings.map((warning) => html`<p class="banner">${warning}</p>`)}
    ${diffOf(edited.diff)}
  `
}

/** A patch, each line with its sign. */
function diffOf(diff: string): Child {
  const lines = diff.split('\n').filter((line) => line !== '')
  return html`
    <pre class="diff" tabindex="0">
${lines.map((line) => {
        const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'taken' : ''
        return html`<span class=${kind}>${line}${'\n'}</span>`
      })}</pre
    >
  `
}
