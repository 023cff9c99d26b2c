import { count } from './format.ts'
import { html, type Child } from './html.ts'
import { timeOfSeconds } from './time.ts'
import { meteredText, windows, type ByWindow } from './windows.ts'

/**
 * A window of a quota. What it has used is more than its limit if that was lowered since. Without a limit that refuses, what
 * lies beyond the included points is metered without end.
 */
type ShownWindow = Readonly<{
  limit: number | null
  remaining: number | null
  /** When it ends; requests under way have no such time. */
  reset?: number
  used?: number
  included?: number
  beyond?: number
  prepaid?: Readonly<{ left: number }>
}>

/** How much of a limit is used: a bar, and the same in words. `null`: no limit. */
export function bar(name: string, window: ShownWindow | null): Child {
  if (!window) return html`<div class="bar"><span>${name}: no limit</span></div>`
  const { reset } = window
  const { used, most, said } = useOf(window)
  return html`
    <div class=${`bar ${levelOf(used, most)}`}>
      <span>
        ${`${name}: ${count(used)} of ${said} `}
        ${reset !== undefined && html`<span class="quiet">until ${timeOfSeconds(reset)}</span>`}
      </span>
      ${meter(name, used, most)}
    </div>
  `
}

/** The points used of those that are included, and these in words. */
function useOf({ limit, remaining, used, included, beyond = 0, prepaid, reset }: ShownWindow) {
  if (included === undefined) {
    const most = limit ?? 0
    const said = reset === undefined ? count(most) : `${count(most)} used`
    return { used: used ?? most - (remaining ?? 0), most, said }
  }
  // A caller isn't told what it has used where nothing refuses it.
  const some = used ?? (limit === null ? included + beyond : limit - (remaining ?? 0))
  if (!prepaid) return { used: some, most: included, said: meteredText(included, limit) }
  const said = `${count(included)} included, ${count(prepaid.left)} bought points left`
  return { used: some, most: limit ?? included, said }
}

/** The same for a table's cell. */
export function smallBar(name: string, used: number, limit: number): Child {
  return html`
    <div class=${`bar small ${levelOf(used, limit)}`}>
      <span>${count(used)} <span class="quiet">of ${count(limit)} ${name}</span></span>
      ${meter(name, used, limit)}
    </div>
  `
}

function levelOf(used: number, limit: number): 'full' | 'near' | 'fine' {
  return used >= limit ? 'full' : used >= 0.8 * limit ? 'near' : 'fine'
}

function meter(name: string, used: number, limit: number): Child {
  return html`<meter
    min="0"
    max=${limit}
    value=${Math.min(used, limit)}
    aria-label=${`${name}: ${count(used)} of ${count(limit)}`}
  ></meter>`
}

/** How many requests may be under way, and how many are. */
type Places = Readonly<{ limit: number; used: number }>

/** The operations of a key's plan, by their names, and its cap: the windows of each that are limited. */
type Parts = Readonly<{
  operations?: Readonly<Record<string, Part>>
  cap?: Part
}>

type Part = ByWindow<ShownWindow> & Readonly<{ atOnce?: Places }>

/** How many requests are under way, where these are limited. */
export function placesBar(name: string, places: Places | undefined): Child {
  return places && bar(name, { ...places, remaining: null })
}

/** How much a key has used of the operations of its plan, and of its cap: a row of bars for each. */
export function partBars({ operations = {}, cap }: Parts): Child {
  const parts = [...Object.entries(operations), ...(cap ? [['Cap', cap] as const] : [])]
  return parts.map(
    ([part, views]) =>
      html`<div class="bars" key=${part}>
        ${windows.map(({ name, present }) => {
          const view = views[name]
          return view && bar(`${part}, ${present.toLowerCase()}`, view)
        })}
        ${placesBar(`${part}, in flight`, views.atOnce)}
      </div>`,
  )
}
