import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../../../front/http/page/html.ts'
import { typedIn } from '../controls.ts'

/** A place in a text; both from 1. */
export type Place = Readonly<{ line: number; column: number }>

type LinedTextProps = Readonly<{
  label: string
  text: string
  change: (text: string) => void
  /** The lines with mistakes, which are marked. */
  marked: ReadonlySet<number>
  /** Where to go; another object goes there again. */
  goTo: Place | undefined
}>

/** A field for a long text, with the numbers of its lines, which scroll along. */
export function LinedText({ label, text, change, marked, goTo }: LinedTextProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const numbers = useRef<HTMLPreElement>(null)
  useEffect(() => {
    if (goTo && field.current) show(field.current, goTo)
  }, [goTo])
  const follow = (): void => {
    if (field.current && numbers.current) numbers.current.scrollTop = field.current.scrollTop
  }
  const lines = Array.from(
    { length: text.split('\n').length },
    (_, i) => `${marked.has(i + 1) ? '✗ ' : ''}${i + 1}`,
  )
  return html`
    <label class="above" for="draft">${label}</label>
    <div class="lined">
      <pre class="numbers" ref=${numbers} aria-hidden="true">${lines.join('\n')}</pre>
      <textarea
        id="draft"
        ref=${field}
        rows="24"
        spellcheck=${false}
        autocomplete="off"
        wrap="off"
        value=${text}
        onScroll=${follow}
        onInput=${(event: Event) => change(typedIn(event))}
      ></textarea>
    </div>
  `
}

/** Puts the cursor at a place, with some lines above it in view. */
function show(field: HTMLTextAreaElement, { line, column }: Place): void {
  const lines = field.value.split('\n')
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
  const at = before + Math.min(column - 1, lines[line - 1]?.length ?? 0)
  field.focus({ preventScroll: true })
  field.setSelectionRange(at, before + (lines[line - 1]?.length ?? 0))
  const height = Number.parseFloat(getComputedStyle(field).lineHeight)
  field.scrollTop = Math.max(0, (line - 4) * height)
  field.scrollIntoView({ block: 'nearest' })
}
