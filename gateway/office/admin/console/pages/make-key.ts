import { useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { field, fieldText, fieldWords, planField, select, timeField, typedIn } from '../controls.ts'
import { ActionButton } from '../action-button.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { usePlans, type Plan } from '../data.ts'
import type { MadeKey } from '../../../operations/keys/create.ts'
import type { RotatedKey } from '../../../operations/keys/rotate.ts'
import { limitFields, limitsIn } from '../limit-fields.ts'

type MakeProps = Readonly<{
  made: () => void
  /** The account that its form has at first. */
  account?: string
  isMain?: boolean
}>

/** Makes a key. Its token is in this dialog until it is closed, and nowhere else. */
export function MakeKey({ made, account, isMain }: MakeProps) {
  const plans = usePlans()
  const create = async (form: FormData): Promise<Child> => {
    const { key, warnings } = await ask<MadeKey>('POST', '/admin/keys', settingsIn(form))
    return html`${warnings?.map((warning) => html`<p class="banner" role="status">${warning}</p>`)}
    ${shown(key)}`
  }
  return html`<${ActionButton}
    label="Create key"
    isMain=${isMain}
    fields=${html`<${KeyFields} account=${account} plans=${plans} />`}
    act=${create}
    closed=${made}
  />`
}

/** How long a token that was replaced may work on. */
const overlaps = [
  ['1h', 'hour'],
  ['24h', 'day'],
  ['7d', 'week'],
  ['0', 'no time at all'],
] as const

/** Gives a key a new token, and shows it this once. */
export function Rotate({ id, done }: { id: string; done: () => void }) {
  const rotate = async (form: FormData): Promise<Child> => {
    const overlap = fieldText(form, 'overlap')
    const { key } = await ask<RotatedKey>('POST', `/admin/keys/${id}/rotate`, { overlap })
    return shown(key)
  }
  return html`<${ActionButton}
    label="Rotate the token"
    go="Rotate"
    consequence="The key gets a new token. The present one works on for a while, so that its owner can change it."
    fields=${select('The present token works for another', { name: 'overlap' }, overlaps, '24h')}
    act=${rotate}
    closed=${done}
  />`
}

/** A token, this once. */
function shown(token: string): Child {
  return html`
    <p>Copy the token now and share it securely: it isn’t shown again.</p>
    <p class="token"><code>${token}</code></p>
    <p><${CopyButton} text=${token} label="Copy" class="go" /></p>
  `
}

/** The settings of a new key. */
function KeyFields({ plans, account }: { plans: readonly Plan[]; account?: string }) {
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
function settingsIn(form: FormData): object {
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
