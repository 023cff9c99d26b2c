import { useState } from 'preact/hooks'
import { field, fieldText, fieldWords, formIn } from '../controls.ts'
import { useMayAll, plansIn, useConfig, type Plan } from '../data.ts'
import { atOnceField, limitFields, limitsIn } from '../limit-fields.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { requestsText } from '../../../../front/http/page/format.ts'
import { atOnceText, limitsText } from '../../../../front/http/page/windows.ts'
import { aged, column, table } from '../page-parts.ts'
import { Edit } from './edit.ts'

type Named = Plan['operations'][number]
type Operation = Partial<Named[1]>

/** The most operations of a plan. */
const mostOperations = 4

/** How many requests of a plan may be under way, and those that have limits of their own: as they are, and their change. */
export function PlanParts({ name }: { name: string }) {
  const mayAll = useMayAll()
  const config = useConfig(5_000)
  const [isOpen, setOpen] = useState(false)
  const [set, setSet] = useState<Readonly<Record<string, unknown>>>()
  return aged(config, ({ config: settings }) => {
    const plan = plansIn(settings).find((each) => each.name === name)
    if (!plan) return null
    const { limits, operations } = plan
    const write = (event: Event): void => {
      setSet(changesIn(formIn(event), plan))
    }
    return html`
      <section class="card">
        <h2>Operations and requests at once</h2>
        ${limits !== 'custom' && html`<p>${`In flight at once: ${atOnceText(limits.atOnce)}.`}</p>`}
        ${operations.length > 0 && tableOf(operations)}
        ${
          mayAll &&
          html`<p>
            <button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
              Change them
            </button>
          </p>`
        }
        ${
          isOpen &&
          html`<form onSubmit=${write}>
            ${limits !== 'custom' && atOnceField('plan', limits)}
            ${operations.map(([operation, now]) => fieldsOf(operation, now))}
            ${operations.length < mostOperations && fieldsOf('', {})}
            <button>Show the change</button>
          </form>`
        }
        ${isOpen && set && changeOf(set)}
      </section>
    `
  })
}

function changeOf(set: Readonly<Record<string, unknown>>): Child {
  if (Object.keys(set).length === 0) return html`<p class="quiet">Nothing is changed.</p>`
  return html`<${Edit} set=${set} watch="#/plans" />`
}

function tableOf(operations: readonly Named[]): Child {
  return table<Named>(
    'Requests with limits beside those of the plan',
    [
      column('Operation', ([operation]) => operation),
      column('Requests', ([, requests]) => html`<code>${requestsText(requests)}</code>`),
      column('Limits', ([, limits]) => limitsText(limits)),
    ],
    operations,
    ([operation]) => operation,
  )
}

/** The fields of an operation; without a name, of a new one. */
function fieldsOf(operation: string, now: Operation): Child {
  const words = (label: string, name: 'methods' | 'paths', placeholder: string): Child =>
    field(label, {
      name: `${operation}.${name}`,
      defaultValue: (now[name] ?? []).join(' '),
      placeholder,
      spellcheck: false,
    })
  return html`
    <fieldset class="limits" key=${operation}>
      <legend>${operation === '' ? 'A new operation' : html`Operation <b>${operation}</b>`}</legend>
      ${operation === '' && field('Name', { name: 'name', pattern: '[a-z][a-z0-9\\-]*' })}
      ${words('Methods', 'methods', 'POST')} ${words('Paths', 'paths', '/v1/exports /v1/exports/*')}
      ${limitFields(operation, now, html`<span class="unseen">Limits of ${operation}</span>`)}
      ${
        operation !== '' &&
        html`<label class="inline"
          ><input type="checkbox" name=${`${operation}.remove`} /> Remove ${operation}</label
        >`
      }
    </fieldset>
  `
}

/** The settings of the file that a form changes; those that it leaves alone stay as they are written. */
function changesIn(form: FormData, { name, limits, operations }: Plan): Record<string, unknown> {
  const changes: Record<string, unknown> = {}
  const plan = `plans.${name}`
  const { plan: places } = limitsIn(form, 'plan', limits === 'custom' ? {} : limits)
  if (places) changes[`${plan}.atOnce`] = places['atOnce']
  const isRemoved = ([operation]: Named): boolean => form.has(`${operation}.remove`)
  const [added, settings] = [fieldText(form, 'name'), settingsIn(form, '', {})]
  if (operations.length > 0 && operations.every(isRemoved) && added === '') {
    return { ...changes, [`${plan}.operations`]: null }
  }
  for (const each of operations) {
    const [operation, now] = each
    if (isRemoved(each)) changes[`${plan}.operations.${operation}`] = null
    else {
      for (const [member, value] of Object.entries(settingsIn(form, operation, now))) {
        changes[`${plan}.operations.${operation}.${member}`] = value
      }
    }
  }
  if (added !== '' && operations.length === 0) changes[`${plan}.operations`] = { [added]: settings }
  else if (added !== '') changes[`${plan}.operations.${added}`] = settings
  return changes
}

/** The members of an operation that a form changes; `null` takes one away. */
function settingsIn(form: FormData, operation: string, now: Operation): Record<string, unknown> {
  const words = (['methods', 'paths'] as const).flatMap((name) => {
    const written = fieldWords(form, `${operation}.${name}`)
    const isChanged = written.join() !== (now[name] ?? []).join()
    return isChanged ? [[name, written.length > 0 ? written : null] as const] : []
  })
  return { ...Object.fromEntries(words), ...limitsIn(form, operation, now)[operation] }
}
