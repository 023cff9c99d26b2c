import { useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import { fieldText } from '../controls.ts'
import { html } from '../../../../front/http/page/html.ts'
import { Edit } from './edit.ts'

type Props = Readonly<{
  session: Session
  /** The names of the upstreams. */
  upstreams: readonly string[]
}>

type Described = Readonly<{ upstream: string; swap: Readonly<Record<string, unknown>> }>

/** Writes the description of a swap: as the change of the file that it is, to be copied or saved. */
export function DescribeSwap({ session, upstreams }: Props) {
  const [described, setDescribed] = useState<Described>()
  if (session.role !== 'all' || upstreams.length === 0) return null
  const submit = (event: Event): void => {
    event.preventDefault()
    const form = new FormData(event.target as HTMLFormElement)
    const steps = fieldText(form, 'steps').split(/[\s,%]+/)
    setDescribed({
      upstream: fieldText(form, 'upstream') || (upstreams[0] ?? ''),
      swap: {
        to: [fieldText(form, 'to')],
        steps: steps.filter((step) => step !== '').map(Number),
        every: fieldText(form, 'every'),
      },
    })
  }
  return html`
    <section class="card">
      <h2>Swap to another backend</h2>
      <p>
        Some callers go there first, then more, then all; back by itself if it fails or slows down
        more than the present one. It begins when the file is in force on every gateway.
      </p>
      <form class="tools" onSubmit=${submit}>
        ${
          upstreams.length > 1 &&
          html`<label
            >Upstream
            <select name="upstream">
              ${upstreams.map((name) => html`<option value=${name}>${name}</option>`)}
            </select>
          </label>`
        }
        <label
          >Go to <input name="to" type="url" required placeholder="http://10.0.0.9:8090"
        /></label>
        <label
          >Percent of callers
          <input class="short" name="steps" required defaultValue="1, 10, 50" autocomplete="off"
        /></label>
        <label
          >Each for <input class="short" name="every" required defaultValue="5m" autocomplete="off"
        /></label>
        <button class="go">Show the change</button>
      </form>
      ${
        described &&
        html`<${Edit}
          set=${{ [`upstreams.${described.upstream}.swap`]: described.swap }}
          session=${session}
          watch="#/backends"
        />`
      }
    </section>
  `
}
