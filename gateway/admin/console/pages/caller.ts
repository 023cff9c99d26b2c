import { useRef, useState } from 'preact/hooks'
import { ask, query, type Session } from '../api.ts'
import { useData } from '../data.ts'
import { ago, count, utc } from '../format.ts'
import { html, type Child } from '../html.ts'
import { ActionButton, aged, bar, failure, page, table, time, type Action } from '../parts.ts'
import type { KeyDetails, KeyPage, Timeline, TimelineLine, Usage } from '../views.ts'
import { Shown } from './make-key.ts'

/** The lines of the timeline that are shown at first. */
const firstLines = 50

/** One caller: how it stands, why it was refused, and what can be done. */
export function Caller({ id, session }: { id: string; session: Session }) {
  const path = `/admin/keys/${encodeURIComponent(id)}`
  const key = useData<KeyDetails>(path, 5_000)
  const timeline = useData<Timeline>(`${path}/timeline`, 5_000)
  const usage = useData<readonly Usage[]>(`/admin/usage/${encodeURIComponent(id)}`)
  const again = (): void => {
    key.reload()
    timeline.reload()
  }
  return page(
    key.data?.name ?? 'Caller',
    `tollgate explain ${id}`,
    aged(timeline, ({ sentence }) => html`<p class="sentence">${sentence}</p>`),
    aged(
      key,
      (details) => html`
        ${windowsOf(details)}
        <${Actions} details=${details} session=${session} done=${again} />
        ${factsOf(details)}
        ${details.account !== undefined && html`<${Sharing} account=${details.account} id=${id} />`}
      `,
    ),
    aged(timeline, ({ lines }) => html`<${Lines} lines=${lines} />`),
    aged(usage, usageTable),
  )
}

function windowsOf({ standing: { minute, day, offered } }: KeyDetails): Child {
  if (!offered)
    return html`<p class="banner bad">
      The configuration has no limits for its plan: it gets 403.
    </p>`
  const until = (reset: number): string => utc(new Date(reset * 1_000).toISOString())
  return html`
    <div class="bars">
      ${bar('This minute', minute?.used ?? 0, minute?.limit, minute ? until(minute.reset) : undefined)}
      ${bar('Today', day?.used ?? 0, day?.limit, day ? until(day.reset) : undefined)}
    </div>
  `
}

function factsOf(details: KeyDetails): Child {
  const { id, plan, account, note, createdAt, expiresAt, lastUsedAt, oldToken, standing } = details
  const only = [...(details.methods ?? []), ...(details.paths ?? []), ...(details.addresses ?? [])]
  const { perMinute, perDay } = details.limits ?? {}
  const own = [
    ...(perMinute === undefined ? [] : [`${perMinute} a minute`]),
    ...(perDay === undefined ? [] : [`${perDay} a day`]),
  ]
  const facts: readonly (readonly [string, Child])[] = [
    ['Id', html`<code>${id}</code>`],
    ['Plan', plan],
    ['Account', account],
    ['Limits of its own', own.join(', ')],
    ['Restricted to', only.join(' ')],
    ['Strikes', standing.strikes > 0 ? standing.strikes : ''],
    ['Note', note],
    ['Made', time(createdAt)],
    ['Expires', expiresAt === undefined ? 'never' : time(expiresAt)],
    ['Token last used', lastUsedAt ? html`${ago(lastUsedAt)} (${time(lastUsedAt)})` : 'never'],
    [
      'Old token',
      oldToken && html`works until ${time(oldToken.until)}; last used ${ago(oldToken.lastUsedAt)}`,
    ],
  ]
  return html`
    <dl class="facts">
      ${facts
        .filter(([, value]) => value !== undefined && value !== '')
        .map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
        )}
    </dl>
  `
}

type ActionsProps = { details: KeyDetails; session: Session; done: () => void }

/** The actions that a role allows: each tells what will happen before it does. */
function Actions({ details, session, done }: ActionsProps) {
  const { id, name, state, bannedUntil, account } = details
  const path = `/admin/keys/${id}`
  const act = (method: string, target: string, body?: unknown) => async (): Promise<void> => {
    await ask(method, target, body)
    done()
  }
  const whose =
    account === undefined
      ? 'its own counters'
      : `the counters of the account ${account}, which its other keys share`
  const support: Action[] = [
    ...(bannedUntil === undefined
      ? []
      : [
          {
            label: 'Lift the ban',
            consequence: `“${name}” is let in again within a second, on every gateway.`,
            act: act('DELETE', `/admin/bans/${id}`),
          },
        ]),
    {
      label: 'Reset the quota',
      consequence: `This empties ${whose}: the minute and the day begin anew.`,
      act: act('POST', `/admin/quota/${id}/reset`),
    },
  ]
  const all: Action[] =
    state === 'revoked'
      ? []
      : [
          state === 'disabled'
            ? {
                label: 'Enable',
                consequence: `“${name}” is let in again within a second.`,
                act: act('POST', `${path}/enable`),
              }
            : {
                label: 'Disable',
                consequence: `Every request of “${name}” gets 401 until it is enabled again.`,
                act: act('POST', `${path}/disable`),
              },
          {
            label: 'Revoke',
            consequence: `“${name}” ends for good: it can’t be enabled again, and its tokens never work again.`,
            typed: name,
            act: act('POST', `${path}/revoke`),
          },
        ]
  const shown = [
    ...(session.role === 'read' ? [] : support),
    ...(session.role === 'all' ? all : []),
  ]
  if (session.role === 'read') return null
  return html`
    <div class="tools" role="group" aria-label="What can be done">
      ${shown.map((action) => html`<${ActionButton} key=${action.label} ...${action} />`)}
      ${state !== 'revoked' && html`<${Rotate} id=${id} done=${done} />`}
    </div>
  `
}

function Rotate({ id, done }: { id: string; done: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [overlap, setOverlap] = useState('24h')
  const [token, setToken] = useState<string>()
  const [error, setError] = useState<string>()
  const rotate = async (event: Event): Promise<void> => {
    event.preventDefault()
    setError(undefined)
    try {
      const { key } = await ask<{ key: string }>('POST', `/admin/keys/${id}/rotate`, { overlap })
      setToken(key)
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown))
    }
  }
  const close = (): void => {
    if (token !== undefined) done()
    setToken(undefined)
  }
  return html`
    <button type="button" onClick=${() => dialog.current?.showModal()}>Rotate the token</button>
    <dialog ref=${dialog} aria-label="Rotate the token" onClose=${close}>
      <h2>Rotate the token</h2>
      ${
        token === undefined
          ? html`
              <form onSubmit=${(event: Event) => void rotate(event)}>
                <p>
                  The key gets a new token. The present one works on for a while, so that its owner
                  can change it.
                </p>
                <label
                  >The present token works for another
                  <select
                    value=${overlap}
                    onChange=${(event: Event) => setOverlap((event.target as HTMLSelectElement).value)}
                  >
                    <option value="1h">hour</option>
                    <option value="24h">day</option>
                    <option value="7d">week</option>
                    <option value="0">no time at all</option>
                  </select>
                </label>
                ${error !== undefined && failure({ message: error })}
                <div class="buttons">
                  <button type="button" onClick=${() => dialog.current?.close()}>Cancel</button>
                  <button class="go">Rotate</button>
                </div>
              </form>
            `
          : html`<${Shown} token=${token} />
              <form method="dialog" class="buttons"><button>Done</button></form>`
      }
    </dialog>
  `
}

/** The other keys that use up the same quota. */
function Sharing({ account, id }: { account: string; id: string }) {
  const others = useData<KeyPage>(`/admin/keys${query({ account, limit: 20 })}`)
  return aged(others, ({ keys, next }) => {
    const rest = keys.filter((key) => key.id !== id)
    if (rest.length === 0)
      return html`<p class="quiet">No other key has the account ${account}.</p>`
    return html`
      <p>
        Other keys of the account ${account}, which share its quota:
        ${rest.map((key, i) => html`${i > 0 ? ', ' : ' '}<a href=${`#/callers/${key.id}`}>${key.name}</a>`)}${next === null ? '' : ' and more'}
      </p>
    `
  })
}

function Lines({ lines }: { lines: readonly TimelineLine[] }) {
  const [isWhole, setWhole] = useState(false)
  const newest = [...lines].reverse()
  const shown = isWhole ? newest : newest.slice(0, firstLines)
  if (lines.length === 0)
    return html`<p class="quiet">In 7 days nothing was refused, and nothing was changed.</p>`
  return html`
    ${table('What happened in 7 days, the newest first', lineColumns, shown)}
    ${lines.length > shown.length && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${count(lines.length)} lines</button></p>`}
  `
}

const lineColumns = [
  { name: 'When', cell: ({ at }: TimelineLine) => time(at) },
  { name: 'What', cell: ({ what, code }: TimelineLine) => (what === 'refused' ? code : what) },
  {
    name: 'How often',
    isNumber: true,
    cell: ({ count: times }: TimelineLine) => (times === undefined ? '' : count(times)),
  },
  {
    name: 'Why',
    cell: ({ reason, limit, used, by }: TimelineLine) =>
      by !== undefined
        ? `by ${by}`
        : limit
          ? `${reason}: ${count(used ?? 0)} of ${count(limit)} used`
          : (reason ?? ''),
  },
]

function usageTable(days: readonly Usage[]): Child {
  if (days.length === 0) return html`<p class="quiet">It was not used in 90 days.</p>`
  const newest = [...days].reverse().slice(0, 90)
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((all, each) => all + each, 0)
  return html`
    <details>
      <summary>Usage of ${count(days.length)} ${days.length === 1 ? 'day' : 'days'}</summary>
      ${table(
        'Usage by day, in UTC',
        [
          { name: 'Day', cell: ({ day }: Usage) => day },
          { name: 'Admitted', isNumber: true, cell: ({ admitted }: Usage) => count(admitted) },
          { name: 'Points', isNumber: true, cell: ({ points }: Usage) => count(points) },
          { name: 'Refused', isNumber: true, cell: ({ refused }: Usage) => count(sum(refused)) },
          {
            name: 'by the minute',
            isNumber: true,
            cell: ({ windows }: Usage) => count(windows.minute),
          },
          { name: 'by the day', isNumber: true, cell: ({ windows }: Usage) => count(windows.day) },
        ],
        newest,
      )}
    </details>
  `
}
