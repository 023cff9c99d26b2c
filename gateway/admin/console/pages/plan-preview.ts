import { useEffect, useState } from 'preact/hooks'
import { ApiError, ask, type Session } from '../api.ts'
import { saveCsv } from '../download.ts'
import { count } from '../format.ts'
import { html, type Child } from '../html.ts'
import { aged, table } from '../parts.ts'
import type { Loaded } from '../data.ts'
import type { HitQuota, PlanLimits, Preview, RefusedQuota } from '../views.ts'
import { Edit } from './edit.ts'

/** How long to wait after the last change of a number. */
const pauseMs = 250

type Props = Readonly<{
  name: string
  now: PlanLimits
  draft: Partial<PlanLimits>
  change: (news: Partial<PlanLimits>) => void
  reset: () => void
  session: Session
}>

/** Other limits of a plan: who would have been refused, and the change of the file. */
export function PlanPreview({ name, now, draft, change, reset, session }: Props) {
  const then = { ...now, ...draft }
  const isChanged = then.perMinute !== now.perMinute || then.perDay !== now.perDay
  const preview = usePreview(name, isChanged ? then : undefined)
  return html`
    <section class="card">
      <h2>Other limits</h2>
      <form class="tools" onSubmit=${(event: Event) => event.preventDefault()}>
        ${field('A minute', then.perMinute, (perMinute) => change({ perMinute }))}
        ${field('A day', then.perDay, (perDay) => change({ perDay }))}
        ${isChanged && html`<button type="button" onClick=${reset}>As it is</button>`}
      </form>
      ${
        isChanged
          ? html`
              ${aged(preview, (data) => previewOf(data, () => void saveHit(name, then)))}
              <${Edit}
                set=${settingsOf(name, now, then)}
                session=${session}
                watch=${`#/now/${encodeURIComponent(name)}`}
              />
            `
          : html`<p class="quiet">
              Move a slider, or type a number, to see who would have been refused by it. Nothing
              changes by that.
            </p>`
      }
    </section>
  `
}

function field(
  label: string,
  value: number | string,
  set: (value: number | string) => void,
): Child {
  return html`
    <label
      >${label}
      <input
        class="short"
        value=${value}
        inputmode="numeric"
        autocomplete="off"
        onInput=${(event: Event) => {
          const text = (event.target as HTMLInputElement).value.trim()
          if (/^[1-9]\d{0,14}$/.test(text)) set(Number(text))
          else if (text === 'unlimited') set(text)
        }}
      />
    </label>
  `
}

/** The settings of the file that differ. */
function settingsOf(name: string, now: PlanLimits, then: PlanLimits): Record<string, unknown> {
  const changed = (['perMinute', 'perDay'] as const).filter((limit) => now[limit] !== then[limit])
  return Object.fromEntries(changed.map((limit) => [`plans.${name}.${limit}`, then[limit]]))
}

function usePreview(name: string, then: PlanLimits | undefined): Loaded<Preview> {
  const [state, setState] = useState<Omit<Loaded<Preview>, 'reload'>>(nothing)
  useEffect(() => {
    if (!then) return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      const path = `/admin/plans/${encodeURIComponent(name)}/preview`
      ask<Preview>('POST', path, { ...then, limit: 100 }, leaving.signal).then(
        (data) => setState({ data, atMs: Date.now(), error: undefined }),
        (error: unknown) => {
          if (leaving.signal.aborted) return
          const told = error instanceof ApiError ? error : new ApiError(0, String(error))
          setState({ data: undefined, atMs: undefined, error: told })
        },
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [name, then?.perMinute, then?.perDay])
  return { ...state, reload: () => undefined }
}

const nothing = { data: undefined, atMs: undefined, error: undefined }

async function saveHit(name: string, then: PlanLimits): Promise<void> {
  const path = `/admin/plans/${encodeURIComponent(name)}/preview`
  await saveCsv(`${name}-refused.csv`, 'POST', path, { body: then })
}

function previewOf(preview: Preview, saveHit: () => void): Child {
  const { hit, hitQuotas, refused, refusedQuotas, unsaid } = preview
  return html`
    <p class=${`banner ${hitQuotas > 0 ? '' : 'good'}`} role="status">${summaryOf(preview)}</p>
    ${
      hit.length > 0 &&
      html`
        ${table(listed('Quotas that would have been refused', hit.length, hitQuotas), hitColumns, hit, keyOf, true)}
        <p><button type="button" onClick=${saveHit}>Save them as CSV</button></p>
      `
    }
    ${
      refused.length > 0 &&
      table(
        listed(
          'Quotas that were refused by the limits that would be raised',
          refused.length,
          refusedQuotas,
        ),
        refusedColumns,
        refused,
        keyOf,
        true,
      )
    }
    <details>
      <summary>What these numbers can’t tell</summary>
      <ul>
        ${unsaid.map((each) => html`<li>${each}</li>`)}
      </ul>
    </details>
  `
}

function summaryOf({
  hitQuotas,
  quotas,
  hitDays,
  days,
  hitNow,
  bound,
  refused,
  refusedQuotas,
}: Preview): string {
  const least = bound === 'lower' ? 'At least ' : ''
  const hit = `${least}${count(hitQuotas)} of ${count(quotas)} quotas would have been refused, on ${count(hitDays)} of ${count(days)} days${hitQuotas > 0 ? `; ${count(hitNow)} of them right now` : ''}.`
  if (refusedQuotas === 0) return hit
  const onDays = refused.reduce((sum, { daysRefused }) => sum + daysRefused.length, 0)
  return `${hit} ${count(refusedQuotas)} that were refused on ${count(onDays)} days would have had more room.`
}

function listed(title: string, some: number, all: number): string {
  return all > some ? `${title}: ${count(some)} of ${count(all)}` : title
}

function keyOf({ quota }: HitQuota | RefusedQuota): string {
  return quota
}

const ofBoth = [
  {
    name: 'Key',
    cell: ({ key, name, account }: HitQuota | RefusedQuota) => html`
      <a href=${`#/callers/${key}`}>${name}</a>
      ${account !== null && account !== undefined && html`<div class="quiet">account ${account}</div>`}
    `,
  },
  {
    name: 'Highest minute',
    isNumber: true,
    cell: ({ peakMinute }: HitQuota | RefusedQuota) => count(peakMinute),
  },
  {
    name: 'Highest day',
    isNumber: true,
    cell: ({ peakDay }: HitQuota | RefusedQuota) => count(peakDay),
  },
]

const hitColumns = [
  ...ofBoth,
  {
    name: 'Days',
    cell: ({ days, daysHit }: HitQuota) => html`
      ${count(daysHit.length)} of ${count(days)}
      <div class="quiet">${daysHit.slice(-3).join(', ')}${daysHit.length > 3 ? ', …' : ''}</div>
    `,
  },
  { name: 'Right now', cell: ({ refusedNow }: HitQuota) => (refusedNow ? 'refused' : '') },
]

const refusedColumns = [
  ...ofBoth,
  {
    name: 'Refused on',
    isNumber: true,
    cell: ({ daysRefused }: RefusedQuota) => `${count(daysRefused.length)} days`,
  },
  {
    name: 'By minute, by day',
    isNumber: true,
    cell: ({ refused }: RefusedQuota) => `${count(refused.minute)}, ${count(refused.day)}`,
  },
]
