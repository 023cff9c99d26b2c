import { useContext, useState } from 'preact/hooks'
import { ask } from '../api.ts'
import { useWork } from '../../../../front/http/page/work.ts'
import { Choice, field, fieldText, formIn, select, typedIn } from '../controls.ts'
import { Operator } from '../data.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { column, failure, numeric, table } from '../page-parts.ts'
import type { CheckedUpstream } from '../../../operations/upstream/check.ts'
import type { Finding } from '../../../probe/probe.ts'
import { Edit } from './edit.ts'

/** The way to another backend: its address, typed once, and what its steps have told. */
type Migration = Readonly<{
  url: string
  /** The upstream that it would be of; empty for the first one. */
  upstream: string
  step: 'check' | 'swap'
  checked?: CheckedUpstream | undefined
  /** The description of the swap. */
  swap?: Readonly<Record<string, unknown>> | undefined
}>

export type KeptMigration = ReturnType<typeof useMigration>

/** Keeps a migration while the console is open: other pages don't end it. */
export function useMigration() {
  const [at, setAt] = useState<Migration>({ url: '', upstream: '', step: 'check' })
  const change = (news: Partial<Migration>): void => setAt((before) => ({ ...before, ...news }))
  return { at, change }
}

type Step = Migration['step']

type Props = Readonly<{
  migration: KeptMigration
  /** The names of the upstreams. */
  upstreams: readonly string[]
}>

/** The way to another backend: its address, a check by probes, a swap. */
export function AnotherBackend({ migration, upstreams }: Props) {
  const role = useContext(Operator)?.role
  const { at, change } = migration
  const { isBusy, error, run } = useWork()
  const [first] = upstreams
  if (role === 'read' || first === undefined) return null
  const { url, checked, swap } = at
  const step = role === 'all' ? at.step : 'check'
  const upstream = at.upstream || first
  const backend = { url, upstream }
  const submit = (event: Event): void => {
    const form = formIn(event)
    if (step === 'swap') return change({ swap: swapIn(form, url) })
    void run(async () => {
      change({ checked: undefined })
      change({ checked: await ask<CheckedUpstream>('POST', '/admin/upstreams/check', backend) })
    })
  }
  return html`
    <section class="card">
      <h2>Replace the backend</h2>
      <form onSubmit=${submit}>
        ${addressOf(at, upstream, upstreams, change)}
        ${
          role === 'all' &&
          html`<${Choice}
            label="Step"
            value=${step}
            options=${steps}
            choose=${(step: Step) => change({ step })}
          />`
        }
        <p>${about[step]}</p>
        <div class="tools">${fieldsOf(step, isBusy)}</div>
      </form>
      ${error !== undefined && failure(error)}
      ${checked?.url === url && checked.upstream === upstream && html`<${ProbeFindings} checked=${checked} />`}
      ${swap && html`<${Edit} set=${{ [`upstreams.${upstream}.swap`]: swap }} />`}
    </section>
  `
}

const steps: readonly (readonly [Step, string])[] = [
  ['check', '1. Check'],
  ['swap', '2. Swap'],
]

const about: Readonly<Record<Step, string>> = {
  check:
    'Sends the probes of the configuration to it and to the present one, and lists what would break for callers. It changes nothing.',
  swap: 'Some callers go there first, then more, then all. They come back by themselves if it fails or slows down more than the present one, and by the button Back, which is on this page until the swap is over. It begins when the file is in force on every gateway.',
}

function addressOf(
  { url }: Migration,
  upstream: string,
  upstreams: readonly string[],
  change: KeptMigration['change'],
): Child {
  const take = (name: 'url' | 'upstream') => (event: Event) =>
    change({ [name]: typedIn(event), swap: undefined })
  const names = upstreams.map((name) => [name, name] as const)
  return html`
    <div class="tools">
      ${field('Address', {
        type: 'url',
        required: true,
        value: url,
        placeholder: 'http://10.0.0.9:8090',
        onInput: take('url'),
      })}
      ${upstreams.length > 1 && select('Upstream', { onInput: take('upstream') }, names, upstream)}
    </div>
  `
}

/** The fields of a step, and its button. */
function fieldsOf(step: Step, isBusy: boolean) {
  if (step === 'check')
    return html`<button class="go" disabled=${isBusy}>${isBusy ? 'Checking …' : 'Check'}</button>`
  return html`
    ${text('steps', 'Percent of callers', '1, 10, 50')} ${text('every', 'Each for', '5m')}
    <button class="go">Show the change</button>
  `
}

function text(name: string, label: string, defaultValue: string): Child {
  return field(label, { name, class: 'short', required: true, defaultValue })
}

function swapIn(form: FormData, url: string): Migration['swap'] {
  const steps = fieldText(form, 'steps').split(/[\s,%]+/)
  return {
    to: [url],
    steps: steps.filter((step) => step !== '').map(Number),
    every: fieldText(form, 'every'),
  }
}

/** The findings of probes about another backend. */
function ProbeFindings({ checked: { fit, findings } }: { checked: CheckedUpstream }) {
  const breaks = findings.some((finding) => finding.breaks.length > 0)
  const verdict = breaks ? 'It would break callers.' : 'Not everything could be compared.'
  return html`
    <p class=${`banner ${fit ? 'good' : 'bad'}`} role="status">
      ${fit ? 'Nothing would break.' : verdict}
    </p>
    ${table<Finding>(
      'Findings',
      [
        column('Probe', ({ probe }) => html`<code>${probe}</code>`),
        column('Expected', ({ expected }) => expected),
        column('Got', ({ got }) => got),
        numeric('ms', ({ milliseconds }) => milliseconds),
        column(
          'Would break',
          ({ breaks, note }) =>
            breaks.concat(note ?? []).join('; ') || html`<span class="quiet">nothing</span>`,
        ),
      ],
      findings,
    )}
  `
}
