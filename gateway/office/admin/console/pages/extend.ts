import { useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import type { Deprecation } from '../charts/retirement.ts'
import { fieldText, formIn, typedIn } from '../controls.ts'
import { html } from '../../../../front/http/page/html.ts'
import { Edit } from './edit.ts'

type Kind = 'key' | 'account' | 'brownout'

type Props = Readonly<{
  deprecation: Deprecation
  /** Its index among the deprecations of the configuration. */
  index: number
  session: Session
}>

/** A later sunset for somebody, or another brownout: the change of the file that brings it. */
export function Extend({ deprecation, index, session }: Props) {
  const [kind, setKind] = useState<Kind>('key')
  const [set, setSet] = useState<Readonly<Record<string, unknown>>>()
  const write = (event: Event): void => {
    const form = formIn(event)
    setSet(settingOf(deprecation, index, kind, form))
  }
  if (session.role !== 'all') return null
  return html`
    <details>
      <summary>Extend it for a caller, or plan a brownout</summary>
      <form class="tools" onSubmit=${write}>
        <label
          >What
          <select value=${kind} onChange=${(event: Event) => setKind(typedIn(event) as Kind)}>
            <option value="key">a later sunset for a key</option>
            <option value="account">a later sunset for an account</option>
            <option value="brownout">a brownout: 503 for everybody</option>
          </select>
        </label>
        ${
          kind === 'brownout'
            ? html`<label>From, in UTC <input name="from" type="datetime-local" required /></label>
                <label>To, in UTC <input name="to" type="datetime-local" required /></label>`
            : html`<label
                  >${kind === 'key' ? 'Id of the key' : 'Account'}
                  <input name="whose" required autocomplete="off"
                /></label>
                <label>Until <input name="until" type="date" required /></label>`
        }
        <button>Show the change</button>
      </form>
      ${set && html`<${Edit} set=${set} session=${session} watch="#/deprecations" />`}
    </details>
  `
}

/** The setting with what a form adds to it. */
function settingOf(
  { brownouts, extensions }: Deprecation,
  index: number,
  kind: Kind,
  form: FormData,
): Readonly<Record<string, unknown>> {
  if (kind === 'brownout') {
    const added = { from: `${fieldText(form, 'from')}Z`, to: `${fieldText(form, 'to')}Z` }
    return { [`deprecations[${index}].brownouts`]: [...brownouts, added] }
  }
  const added = { [kind]: fieldText(form, 'whose'), until: fieldText(form, 'until') }
  return { [`deprecations[${index}].extensions`]: [...extensions, added] }
}
