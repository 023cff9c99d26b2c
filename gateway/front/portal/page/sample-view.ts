import { CopyButton } from '../../http/page/copy-button.ts'
import { html } from '../../http/page/html.ts'
import { languages, samples, type Call, type Language } from './samples.ts'

/** The reader of the page: the key, the language of samples, and what happens when a request of theirs was answered. */
export type Reader = Readonly<{
  apiKey: string | undefined
  /** Called after each answer, so that the standing is asked for again. */
  sent: () => void
  language: Language
  speak: (language: Language) => void
}>

type SampleProps = Readonly<{ call: Call; reader: Pick<Reader, 'language' | 'speak'> }>

/** A request in the language of the reader's choice, made of the form's values. */
export function SampleView({ call, reader: { language, speak } }: SampleProps) {
  const sample = samples[language](call)
  return html`
    <div class="sample">
      <div class="buttons" role="group" aria-label="The same request in">
        ${languages.map(
          (each) =>
            html`<button
              type="button"
              aria-pressed=${each === language}
              onClick=${() => speak(each)}
            >
              ${each}
            </button>`,
        )}
      </div>
      <pre tabindex="0" aria-label=${`The request in ${language}`}>${sample}</pre>
      <p class="buttons">
        <${CopyButton} text=${sample} label=${`Copy as ${language}`} />
        <span class="quiet"
          >Your key isn’t in it: put it into the variable <code>KEY</code> of the environment. A
          program has one gate for all its calls: after a 429, none asks before${' '}
          <code>Retry-After</code> has passed.</span
        >
      </p>
    </div>
  `
}
