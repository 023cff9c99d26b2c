import { useState } from 'preact/hooks'
import { Choice, typedIn } from '../controls.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import {
  windows,
  mostOf,
  type Limit,
  type PageWindow,
} from '../../../../front/http/page/windows.ts'
import { forms, limitField } from '../limit-fields.ts'
import { limitFrom, writtenLimit } from '../written-limit.ts'
import { aged } from '../page-parts.ts'
import { SaveCsv } from '../action-button.ts'
import { usePosted } from '../data.ts'
import type { PlanPreview as Preview } from '../../../foresight/preview.ts'
import type { ShownLimits } from '../../../foresight/views.ts'
import { Edit } from './edit.ts'
import { previewOf } from './preview-tables.ts'

/** How long to wait after the last change of a number. */
const pauseMs = 250

/** Thinks of another limit. */
export type ChangeLimit = (window: PageWindow, value: NonNullable<Limit>) => void

type Props = Readonly<{
  name: string
  now: ShownLimits
  draft: Partial<ShownLimits>
  change: ChangeLimit
  reset: () => void
}>

/** Other limits of a plan: who would have been refused, and the change of the file. */
export function PlanPreview({ name, now, draft, change, reset }: Props) {
  const then = { ...now, ...draft }
  const isChanged = changedIn(now, then).length > 0
  const [how, setHow] = useState<How>('limit')
  const preview = usePosted<Preview>(
    `/admin/plans/${encodeURIComponent(name)}/preview`,
    isChanged ? { ...windowLimits(then), limit: 100 } : undefined,
    pauseMs,
  )
  return html`
    <section class="card">
      <h2>Other limits</h2>
      <form class="tools" onSubmit=${(event: Event) => event.preventDefault()}>
        ${windows.map((window) => fieldOf(window, then, change))}
        ${isChanged && html`<button type="button" onClick=${reset}>Reset</button>`}
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
                    ['shadow', 'count only (shadow)'],
                  ]}
                  choose=${setHow}
                />`
              }
              <${Edit}
                set=${settingsOf(name, now, then, isLower(now, then) ? how : 'limit')}
                watch=${`#/now/${encodeURIComponent(name)}`}
              />
            `
          : html`<p class="quiet">
              Move a slider, or type ${forms}, to see who would have been refused. This changes
              nothing.
            </p>`
      }
    </section>
  `
}

function fieldOf(window: PageWindow, then: ShownLimits, change: ChangeLimit): Child {
  return limitField(window.heading, {
    value: writtenLimit(then[window.limit] ?? 'unlimited'),
    onInput: (event: Event) => {
      const limit = limitFrom(typedIn(event).trim())
      if (limit !== undefined && limit !== 0) change(window, limit)
    },
  })
}

/** The limits that a preview knows: those of windows. */
function windowLimits(then: ShownLimits) {
  return Object.fromEntries(windows.map(({ limit }) => [limit, then[limit]]))
}

type How = 'limit' | 'shadow'

/** The windows whose limits differ. */
function changedIn(now: ShownLimits, then: ShownLimits): readonly PageWindow[] {
  const written = (limits: ShownLimits, { limit }: PageWindow) =>
    writtenLimit(limits[limit] ?? 'unlimited')
  return windows.filter((window) => written(now, window) !== written(then, window))
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
  const shadow = Object.fromEntries(
    changed.map(([limit, value]) => [limit, mostOf(value) ?? 'unlimited']),
  )
  return { [`plans.${name}.shadow`]: shadow }
}

/** Whether no limit is raised: a shadow can't be looser than its limit. */
function isLower(now: ShownLimits, then: ShownLimits): boolean {
  return windows.every(
    ({ limit }) => (mostOf(then[limit]) ?? Infinity) <= (mostOf(now[limit]) ?? Infinity),
  )
}

function saveHit(name: string, then: ShownLimits): Child {
  return html`<${SaveCsv}
    label="Save them as CSV"
    file=${`${name}-refused.csv`}
    method="POST"
    path=${`/admin/plans/${encodeURIComponent(name)}/preview`}
    body=${windowLimits(then)}
  />`
}
