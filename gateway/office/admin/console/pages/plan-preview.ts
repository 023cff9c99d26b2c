import { useEffect, useState } from 'preact/hooks'
import { ApiError, ask, type Session } from '../api.ts'
import { Choice } from '../controls.ts'
import { gatewayNowMs } from '../../../../front/http/page/gateway-time.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  windows,
  type Limit,
  type LimitsByName,
  type PageWindow,
} from '../../../../front/http/page/windows.ts'
import { aged } from '../page-parts.ts'
import { SaveCsv } from '../save-csv.ts'
import type { Loaded } from '../data.ts'
import type { PlanPreview as Preview } from '../../../foresight/preview.ts'
import type { ShownLimits } from '../../../foresight/views.ts'
import { Edit } from './edit.ts'
import { previewOf } from './preview-tables.ts'

/** How long to wait after the last change of a number. */
const pauseMs = 250

/** Thinks of another limit. */
export type ChangeLimit = (window: PageWindow, value: number | 'unlimited') => void

type Props = Readonly<{
  name: string
  now: ShownLimits
  draft: Partial<ShownLimits>
  change: ChangeLimit
  reset: () => void
  session: Session
}>

/** Other limits of a plan: who would have been refused, and the change of the file. */
export function PlanPreview({ name, now, draft, change, reset, session }: Props) {
  const then = { ...now, ...draft }
  const isChanged = changedIn(now, then).length > 0
  const [how, setHow] = useState<How>('limit')
  const preview = usePreview(name, isChanged ? then : undefined)
  return html`
    <section class="card">
      <h2>Other limits</h2>
      <form class="tools" onSubmit=${(event: Event) => event.preventDefault()}>
        ${windows.map((window) => field(window, then, change))}
        ${isChanged && html`<button type="button" onClick=${reset}>As it is</button>`}
      </form>
      ${
        isChanged
          ? html`
              ${aged(preview, (data) => previewOf(data, saveHit(name, then)))}
              ${
                isLower(now, then) &&
                html`<${Choice}
                  label="How"
                  value=${how}
                  options=${[
                    ['limit', 'refuse'],
                    ['shadow', 'only count, as a shadow'],
                  ]}
                  choose=${setHow}
                />`
              }
              <${Edit}
                set=${settingsOf(name, now, then, isLower(now, then) ? how : 'limit')}
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

function field(window: PageWindow, then: ShownLimits, change: ChangeLimit): Child {
  return html`
    <label
      >${window.heading}
      <input
        class="short"
        value=${limitOf(then, window)}
        inputmode="numeric"
        autocomplete="off"
        onInput=${(event: Event) => {
          const text = (event.target as HTMLInputElement).value.trim()
          if (/^[1-9]\d{0,14}$/.test(text)) change(window, Number(text))
          else if (text === 'unlimited') change(window, text)
        }}
      />
    </label>
  `
}

type How = 'limit' | 'shadow'

function limitOf(limits: LimitsByName, { limit }: PageWindow): number | 'unlimited' {
  const setting = limits[limit] ?? 'unlimited'
  return typeof setting === 'object' ? setting.limit : setting
}

/** The windows whose limits differ. */
function changedIn(now: ShownLimits, then: ShownLimits): readonly PageWindow[] {
  return windows.filter((window) => limitOf(now, window) !== limitOf(then, window))
}

/** The settings of the file that differ. */
function settingsOf(
  name: string,
  now: ShownLimits,
  then: ShownLimits,
  how: How,
): Record<string, unknown> {
  const changed = changedIn(now, then).map(({ limit }) => [limit, then[limit]] as const)
  if (how === 'limit') {
    return Object.fromEntries(changed.map(([limit, value]) => [`plans.${name}.${limit}`, value]))
  }
  const shadow = Object.fromEntries(changed)
  return { [`plans.${name}.shadow`]: shadow }
}

/** Whether no limit is raised: a shadow can't be looser than its limit. */
function isLower(now: ShownLimits, then: ShownLimits): boolean {
  return windows.every(({ limit }) => numberOf(then[limit]) <= numberOf(now[limit]))
}

function numberOf(limit: Limit): number {
  return typeof limit === 'number' ? limit : Infinity
}

function usePreview(name: string, then: ShownLimits | undefined): Loaded<Preview> {
  const [state, setState] = useState<Omit<Loaded<Preview>, 'reload'>>(nothing)
  useEffect(() => {
    if (!then) return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      const path = `/admin/plans/${encodeURIComponent(name)}/preview`
      ask<Preview>('POST', path, { ...then, limit: 100 }, leaving.signal).then(
        (data) => setState({ data, atMs: gatewayNowMs(), error: undefined }),
        (error: unknown) => {
          if (leaving.signal.aborted) return
          const apiError = error instanceof ApiError ? error : new ApiError(0, String(error))
          setState({ data: undefined, atMs: undefined, error: apiError })
        },
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [name, JSON.stringify(then)])
  return { ...state, reload: () => undefined }
}

const nothing = { data: undefined, atMs: undefined, error: undefined }

function saveHit(name: string, then: ShownLimits): Child {
  return html`<${SaveCsv}
    label="Save them as CSV"
    file=${`${name}-refused.csv`}
    method="POST"
    path=${`/admin/plans/${encodeURIComponent(name)}/preview`}
    body=${then}
  />`
}
