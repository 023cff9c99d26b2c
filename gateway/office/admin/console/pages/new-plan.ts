import { useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import { fieldText, formIn } from '../controls.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'
import { html } from '../../../../front/http/page/html.ts'
import type { Plan } from '../settings.ts'
import { Edit } from './edit.ts'

type Props = Readonly<{ plans: readonly Plan[]; session: Session }>

/** Another plan: the change of the file that brings it. */
export function NewPlan({ plans, session }: Props) {
  const [made, setMade] = useState<Readonly<{ name: string; plan: unknown }>>()
  if (session.role !== 'all') return null
  const write = (event: Event): void => {
    const form = formIn(event)
    const { plan = 'custom' } = limitsIn(form, 'plan')
    setMade({ name: fieldText(form, 'name'), plan })
  }
  const check = ({ target }: Event): void => {
    const field = target as HTMLInputElement
    const isTaken = plans.some(({ name }) => name === field.value.trim())
    field.setCustomValidity(isTaken ? 'This plan exists already: change it on its own page.' : '')
  }
  return html`
    <details class="card">
      <summary><h2>New plan</h2></summary>
      <form onSubmit=${write}>
        <label
          >Name
          <input
            name="name"
            required
            pattern="\\s*[a-z][a-z0-9\\-]{0,31}\\s*"
            title="Lower-case letters, digits and -, starting with a letter"
            autocomplete="off"
            onInput=${check}
          />
        </label>
        ${limitFields('plan')}
        <button>Show the change</button>
      </form>
      ${
        made &&
        html`<${Edit}
          set=${{ [`plans.${made.name}`]: made.plan }}
          session=${session}
          watch=${`#/plans/${made.name}`}
        />`
      }
    </details>
  `
}
