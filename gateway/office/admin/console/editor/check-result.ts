import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { failure, table, withMore } from '../page-parts.ts'
import { shown } from '../settings.ts'
import type { CheckedConfig } from '../../../operations/config/check.ts'
import { patch } from './patch.ts'
import type { Place } from './lined-text.ts'
import type { Checked } from './use-check.ts'

type Difference = CheckedConfig['differences'][number]

/** The place of a mistake, and its sentence without it. */
export function placeOf(mistake: string): (Place & Readonly<{ sentence: string }>) | undefined {
  const [, line, column, sentence = ''] = /^.*?:(\d+):(\d+): ([^]*)$/.exec(mistake) ?? []
  if (line === undefined) return undefined
  return { line: Number(line), column: Number(column), sentence }
}

/** The mistakes of a text, each leading to its line; or what it would change. */
export function CheckResult({ checked, go }: { checked: Checked; go: (place: Place) => void }) {
  const { result, error } = checked
  if (!result) return failure({ message: error ?? '' })
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
    ${table(
      'Changes to the running configuration',
      [
        { name: 'Setting', cell: ({ place }: Difference) => html`<code>${place}</code>` },
        { name: 'Now', cell: ({ before }: Difference) => valueOf(before) },
        { name: 'New', cell: ({ after }: Difference) => valueOf(after) },
        {
          name: 'Takes effect',
          cell: ({ needsRestart }: Difference) =>
            needsRestart ? 'after a restart' : 'immediately',
        },
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
