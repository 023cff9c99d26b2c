import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { type Posted, shown } from '../data.ts'
import { column, failure, table, withMore } from '../page-parts.ts'
import type { CheckedConfig } from '../../../operations/config/check.ts'

type Difference = CheckedConfig['differences'][number]

/** The check of a text, or of one before it. */
export type Checked = Posted<CheckedConfig>

/** A place in a text; both from 1. */
export type Place = Readonly<{ line: number; column: number }>

/** The place of a mistake, and its sentence without it. */
export function placeOf(mistake: string): (Place & Readonly<{ sentence: string }>) | undefined {
  const [, line, column, sentence = ''] = /^.*?:(\d+):(\d+): ([^]*)$/.exec(mistake) ?? []
  if (line === undefined) return undefined
  return { line: Number(line), column: Number(column), sentence }
}

/** The mistakes of a text, each leading to its line; or what it would change. */
export function CheckResult({ checked, go }: { checked: Checked; go: (place: Place) => void }) {
  const { data: result, error } = checked
  if (error) return failure(error.message)
  if (!result) return null
  const { sound, mistakes, more = 0, warnings, differences, diff = '' } = result
  if (!sound) {
    const all = mistakes.length + more
    const heading = all === 1 ? 'It has a mistake:' : `It has ${count(all)} mistakes:`
    return html`
      <div class="banner bad" role="alert">
        <p>${heading}</p>
        ${listOf(withMore(mistakes, more), go)}
      </div>
      ${diff !== '' && patch(diff)}
    `
  }
  return html`
    <div class="banner good" role="status">
      <p>
        The configuration is
        valid${differences.length === 0 ? ', and changes nothing that is in force.' : '.'}
      </p>
    </div>
    ${warnings.length > 0 && html`<div class="banner">${listOf(warnings, go)}</div>`}
    ${differences.length > 0 && changesOf(result)} ${diff !== '' && patch(diff)}
  `
}

function listOf(mistakes: readonly string[], go: (place: Place) => void): Child {
  return html`
    <ul class="plain">
      ${mistakes.map((mistake) => {
        const place = placeOf(mistake)
        if (!place) return html`<li>${mistake}</li>`
        return html`
          <li>
            <button type="button" class="link" onClick=${() => go(place)}>
              Line ${place.line}
            </button>
            ${` ${place.sentence}`}
          </li>
        `
      })}
    </ul>
  `
}

function changesOf({ differences, keys = {}, refused = {} }: CheckedConfig): Child {
  return html`
    ${table<Difference>(
      'Changes to the running configuration',
      [
        column('Setting', ({ place }) => html`<code>${place}</code>`),
        column('Now', ({ before }) => valueOf(before)),
        column('New', ({ after }) => valueOf(after)),
        column('Takes effect', ({ needsRestart }) =>
          needsRestart ? 'after a restart' : 'immediately',
        ),
      ],
      differences,
      ({ place }) => place,
    )}
    ${Object.entries(keys).map(([plan, count]) => {
      const none = refused[plan] ?? 0
      const note = none === 0 ? '' : ` ${none} of them will have no limits, and be refused.`
      return html`<p>Keys with the plan ${plan}: ${count}.${note}</p>`
    })}
  `
}

function valueOf(value: unknown): string {
  return value === null ? '–' : shown(value)
}

/** A patch, line by line: its signs say what the colours do. */
export function patch(diff: string): Child {
  const lines = diff.split('\n').filter((line) => line !== '')
  return html`<pre class="diff" tabindex="0">
${lines.map((line) => html`<span class=${kindOf(line)}>${`${line}\n`}</span>`)}</pre>`
}

function kindOf(line: string): string {
  if (/^(?:---|\+\+\+)/.test(line)) return ''
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'taken' : ''
}
