import { count, until } from './format.ts'
import { html, type Child } from './html.ts'

/** A window of a quota. What it has used is more than its limit if that was lowered since. */
export type ShownWindow = Readonly<{
  limit: number
  remaining: number
  reset: number
  used?: number
}>

/** How much of a limit is used: a bar, and the same in words. `null`: no limit. */
export function bar(name: string, window: ShownWindow | null): Child {
  if (!window) return html`<div class="bar"><span>${name}: no limit</span></div>`
  const { limit, remaining, reset, used = limit - remaining } = window
  return html`
    <div class=${`bar ${levelOf(used, limit)}`}>
      <span>
        ${`${name}: ${count(used)} of ${count(limit)} used `}
        <span class="quiet">until ${until(reset * 1_000)}</span>
      </span>
      ${meter(name, used, limit)}
    </div>
  `
}

/** The same for a table's cell. */
export function smallBar(name: string, used: number, limit: number): Child {
  return html`
    <div class=${`bar small ${levelOf(used, limit)}`}>
      <span>${count(used)} <span class="quiet">of ${count(limit)}</span></span>
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
