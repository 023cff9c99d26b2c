import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { useMayAll, usePosted } from '../data.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { failure } from '../page-parts.ts'
import type { ConfigText } from '../../../operations/config/save.ts'
import type { RunningConfig } from '../../../operations/config/running.ts'
import { messageOf } from '../../../../front/http/page/format.ts'
import { CheckResult, placeOf, type Place } from './check-result.ts'
import { SaveBar } from './save.ts'
import type { CheckedConfig } from '../../../operations/config/check.ts'
import { typedIn } from '../controls.ts'

/** How long a check waits after the last key. */
const pauseMs = 400

type EditorProps = Readonly<{
  config: RunningConfig
  /** Where the draft is kept while other pages are shown. */
  draft: KeptDraft
  /** Asks for what is in force anew. */
  reload: () => void
}>

/** Edits the file where it may be read, else any text that is pasted: checked while it is typed, and saved where it may be. */
export function Editor({ config, draft, reload }: EditorProps) {
  const mayAll = useMayAll()
  const mayRead = mayAll && config.saving.on
  const [{ read, text }, setState] = useState(draft.current)
  const [error, setError] = useState<string>()
  const [goTo, setGoTo] = useState<Place>()
  const keep = (news: Draft): void => {
    draft.current = news
    setState(news)
  }
  const load = async (): Promise<void> => {
    const answer = await ask<ConfigText>('GET', '/admin/config/file')
    keep({ read: answer, text: answer.text })
  }
  useEffect(() => {
    if (!mayRead || isChanged(draft.current)) return
    load().catch((thrown: unknown) => setError(messageOf(thrown)))
  }, [mayRead, config.hash, String(config.mistakes)])
  const body = text.trim() === '' ? undefined : text
  const checked = usePosted<CheckedConfig>('/admin/config/check', body, pauseMs)
  const mistakes = checked.isOfIt ? checked.data?.mistakes : undefined
  const lines = mistakes?.map((each) => placeOf(each)?.line ?? 0)
  return html`
    <section class="card">
      <h2>${mayRead ? 'The file' : 'In force'}</h2>
      ${!mayRead && withoutReading(config)}
      <p>${mayRead ? '' : 'Paste another configuration. '}${checking}</p>
      ${error !== undefined && failure(error)}
      <div class="editor">
        <div>
          <${LinedText}
            label=${read ? read.file : 'Configuration'}
            text=${text}
            change=${(typed: string) => keep({ read, text: typed })}
            marked=${new Set(lines)}
            goTo=${goTo}
          />
          <${SaveBar}
            config=${config}
            read=${read}
            text=${text}
            checked=${checked}
            load=${load}
            saved=${(hash: string) => {
              if (read) keep({ read: { ...read, text, hash }, text })
              reload()
            }}
          />
        </div>
        <div>
          <p class="quiet" role="status">${checked.isSlow && 'Checking …'}</p>
          ${(checked.data ?? checked.error) && html`<${CheckResult} checked=${checked} go=${(place: Place) => setGoTo({ ...place })} />`}
        </div>
      </div>
    </section>
  `
}

const checking = 'It is checked as you type and compared with the running configuration.'

/** The settings in force for those who may not read the text. */
function withoutReading({ config, saving }: RunningConfig): Child {
  return html`
    ${saving.on && html`<p>A token without a role reads and saves the file here.</p>`}
    <details open>
      <summary>All settings, without secrets</summary>
      <pre class="tall" tabindex="0">${JSON.stringify(config, null, 2)}</pre>
    </details>
  `
}

/** The text being typed, and the file that it was made from, where that may be read. */
type Draft = Readonly<{ read: ConfigText | undefined; text: string }>

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
function isChanged({ read, text }: Draft): boolean {
  return text !== (read?.text ?? '')
}

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
function LinedText({ label, text, change, marked, goTo }: LinedTextProps) {
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
