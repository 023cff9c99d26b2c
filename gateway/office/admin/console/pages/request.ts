import { useData } from '../data.ts'
import { utc } from '../../../../front/http/page/utc.ts'
import { count, plural } from '../../../../front/http/page/format.ts'
import { CopyButton } from '../../../../front/http/page/copy-button.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { capital, windows } from '../../../../front/http/page/windows.ts'
import { aged, column, facts, keyLink, page, reasonText, table, time } from '../page-parts.ts'
import type { Explained, WindowView } from '../../../explain/explained.ts'
import type { FoundRefusals } from '../../../explain/refusals-of.ts'
import type { KeyDetails } from '../../../operations/quota-desk.ts'
import { Actions } from './key-actions.ts'

/** Why a request was refused, or failed, and what can be done for its key. */
export function Request({ id }: { id: string }) {
  const refusals = useData<FoundRefusals>(`/admin/requests/${encodeURIComponent(id)}`)
  return page(
    'Request',
    `tollgate explain ${id}`,
    null,
    aged(refusals, ({ answers, gateways: { asked, answered }, stored }) => {
      const [newest, ...others] = answers
      if (!newest) return null
      return html`
        ${answered < asked && html`<p class="banner">${answered} of ${asked} gateways answered: there may be more.</p>`}
        ${!stored && html`<p class="banner">The store gives no answer: those of gateways that have stopped are missing.</p>`}
        ${answerOf(newest)}
        ${
          others.length > 0 &&
          table<Explained>(
            'Other requests with this id (callers may choose ids)',
            [
              column('When', (each) => time(each.time)),
              column('Why', ({ sentence }) => sentence),
              column('Status', ({ status }) => status),
              column('Key', keyOf),
            ],
            others,
          )
        }
      `
    }),
  )
}

function answerOf(answer: Explained): Child {
  const { status, code, sentence, method, path, route, bannedUntil } = answer
  return html`
    <p class="sentence"><b>${status} ${code ?? 'from the backend'}.</b> ${sentence}</p>
    <p><${CopyButton} text=${answerTo(answer)} label="Copy answer" /></p>
    ${answer.key !== null && html`<${KeyActions} id=${answer.key} />`}
    ${facts([
      ['Request', html`<code>${method} ${path}</code> (route ${route})`],
      ['When', time(answer.time)],
      ['Key', answer.key === null ? 'none' : keyOf(answer)],
      ['Reason', reasonText(answer)],
      ...windows.map(({ name }) => [capital(name), windowText(answer[name])] as const),
      ['Cost', costOf(answer)],
      ['Strikes', answer.strikes > 0 ? answer.strikes : ''],
      ['Banned until', bannedUntil === null ? '' : time(bannedUntil)],
      ['Backend', [answer.upstream, answer.target].filter(Boolean).join(', ')],
      ['Time', timesOf(answer)],
      ['Gateway', `${answer.gateway}, configuration ${answer.config}`],
    ])}
  `
}

function timesOf({ ownMs, upstreamMs }: Explained): string {
  const more = upstreamMs === null ? '' : `, ${upstreamMs} ms in the backend`
  return `${ownMs} ms in the gateway${more}`
}

function costOf({ cost, estimate }: Explained): string {
  return estimate === undefined ? '' : `${plural(cost, 'point')}, estimated ${count(estimate)}`
}

function windowText(window: WindowView | null | undefined): string {
  if (!window) return ''
  const { limit, used, reset } = window
  const until = utc(new Date(reset * 1_000).toISOString())
  return `${used === null ? '?' : count(used)} of ${count(limit)}, until ${until}`
}

/** The actions for the key as it is now. */
function KeyActions({ id }: { id: string }) {
  const key = useData<KeyDetails>(`/admin/keys/${encodeURIComponent(id)}`, 5_000)
  return aged(key, (details) => html`<${Actions} details=${details} done=${key.reload} />`)
}

/** Two sentences to send back to the customer. */
function answerTo({ time: at, status, sentence, id }: Explained): string {
  return `Your request ${id} of ${utc(at)} was answered with ${status}. ${sentence}`
}

function keyOf({ key, name }: Explained): Child {
  return key === null ? '' : keyLink(key, name ?? '')
}
