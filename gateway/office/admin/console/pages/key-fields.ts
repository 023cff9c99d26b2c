import { useState } from 'preact/hooks'
import { field, fieldText, fieldWords, planField, timeField, typedIn } from '../controls.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import type { Plan } from '../settings.ts'

/** The settings of a new key. */
export function KeyFields({ plans, account }: { plans: readonly Plan[]; account?: string }) {
  const [plan, setPlan] = useState<string>()
  const [hasAccount, setHasAccount] = useState(account !== undefined)
  const { limits } = plans.find(({ name }) => name === plan) ?? plans[0] ?? {}
  return html`
    ${field('Name', { name: 'name', required: true })} ${planField(plans, undefined, setPlan)}
    ${field('Account, if several keys share one quota', {
      name: 'account',
      defaultValue: account,
      onInput: (event: Event) => setHasAccount(typedIn(event).trim() !== ''),
    })}
    <details open=${limits === 'custom'}>
      <summary>Custom limits</summary>
      ${limitFields('limits')}
    </details>
    ${hasAccount && limitFields('cap')} ${restrictions}
    ${timeField('Expires at (UTC); empty: never', 'expiresAt')}
    ${field('Reference', { name: 'reference' })} ${field('Note', { name: 'note' })}
    <label class="inline">
      <input type="checkbox" name="test" />
      <span>Test key: lets its owner simulate refusals. This can’t be changed later.</span>
    </label>
  `
}

/** The members that are lists, each with the words above its field and an example. */
const lists = [
  ['methods', 'Methods', 'GET HEAD'],
  ['paths', 'Paths', '/v1/pets /v1/pets/*'],
  ['addresses', 'Addresses', '203.0.113.7 10.0.0.0/8'],
  ['scopes', 'Scopes', 'pets:read pets:write'],
  ['origins', 'Origins of pages', 'https://app.example'],
] as const

const restrictions: Child = html`
  <details>
    <summary>Restrictions and billing day</summary>
    ${lists.map(([name, heading, placeholder]) => {
      const label = `${heading}, with spaces between; empty for all`
      return field(label, { name, placeholder, spellcheck: false })
    })}
    ${field('Billing day, 1 to 28: its months begin on it', {
      name: 'monthFrom',
      inputmode: 'numeric',
      class: 'short',
    })}
  </details>
`

/** The settings that a form with these fields has. */
export function settingsIn(form: FormData): object {
  const texts = ['name', 'plan', 'account', 'reference', 'note'].map((name) => [
    name,
    fieldText(form, name),
  ])
  const words = lists.map(([name]) => [name, fieldWords(form, name)])
  const filled = [...texts, ...words].filter(([, value = '']) => value.length > 0)
  const [expiresAt, monthFrom] = [fieldText(form, 'expiresAt'), fieldText(form, 'monthFrom')]
  return {
    ...(Object.fromEntries(filled) as object),
    ...limitsIn(form, 'limits'),
    ...limitsIn(form, 'cap'),
    ...(expiresAt === '' ? {} : { expiresAt: `${expiresAt}Z` }),
    ...(monthFrom === ''
      ? {}
      : { monthFrom: /^\d+$/.test(monthFrom) ? Number(monthFrom) : monthFrom }),
    ...(form.has('test') ? { test: true } : {}),
  }
}
