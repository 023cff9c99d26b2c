import { ask, type Session } from '../api.ts'
import { useWork } from '../../../../front/http/page/work.ts'
import { Choice, fieldText, formIn, typedIn } from '../controls.ts'
import type { Migration, KeptMigration } from '../migration.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { failure } from '../page-parts.ts'
import type { CheckedUpstream } from '../../../operations/upstream/check.ts'
import { Edit } from './edit.ts'
import { ProbeFindings } from './probe-findings.ts'

type Step = Migration['step']

type Props = Readonly<{
  session: Session
  migration: KeptMigration
  /** The names of the upstreams. */
  upstreams: readonly string[]
}>

/** The way to another backend: its address, a check by probes, a swap. */
export function AnotherBackend({ session, migration, upstreams }: Props) {
  const { at, change } = migration
  const { isBusy, error, run } = useWork()
  const [first] = upstreams
  if (session.role === 'read' || first === undefined) return null
  const { url, checked, swap } = at
  const step = session.role === 'all' ? at.step : 'check'
  const upstream = at.upstream || first
  const backend = { url, upstream }
  const acts: Readonly<Record<Step, (form: FormData) => void>> = {
    check: () =>
      void run(async () => {
        change({ checked: undefined })
        change({ checked: await ask<CheckedUpstream>('POST', '/admin/upstreams/check', backend) })
      }),
    swap: (form) => change({ swap: swapIn(form, url) }),
  }
  const submit = (event: Event): void => {
    acts[step](formIn(event))
  }
  return html`
    <section class="card">
      <h2>Replace the backend</h2>
      <form onSubmit=${submit}>
        ${addressOf(at, upstream, upstreams, change)}
        ${
          session.role === 'all' &&
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
      ${error !== undefined && failure({ message: error })}
      ${checked?.url === url && checked.upstream === upstream && html`<${ProbeFindings} checked=${checked} />`}
      ${
        swap && html`<${Edit} set=${{ [`upstreams.${upstream}.swap`]: swap }} session=${session} />`
      }
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
  return html`
    <div class="tools">
      <label
        >Address
        <input
          type="url"
          required
          value=${url}
          placeholder="http://10.0.0.9:8090"
          onInput=${take('url')}
        />
      </label>
      ${
        upstreams.length > 1 &&
        html`<label
          >Upstream
          <select value=${upstream} onInput=${take('upstream')}>
            ${upstreams.map((name) => html`<option value=${name}>${name}</option>`)}
          </select>
        </label>`
      }
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

function text(name: string, label: string, value: string): Child {
  return html`
    <label key=${name}
      >${label}
      <input class="short" name=${name} required defaultValue=${value} autocomplete="off" />
    </label>
  `
}

function swapIn(form: FormData, url: string): Migration['swap'] {
  const steps = fieldText(form, 'steps').split(/[\s,%]+/)
  return {
    to: [url],
    steps: steps.filter((step) => step !== '').map(Number),
    every: fieldText(form, 'every'),
  }
}
