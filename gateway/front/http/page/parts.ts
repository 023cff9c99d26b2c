import { bar, type ShownWindow } from './bar.ts'
import { html, type Child } from './html.ts'
import { windows, type ByWindow } from './windows.ts'

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

type Requests = Readonly<{
  methods?: readonly string[] | null | undefined
  paths?: readonly string[] | null | undefined
}>

/** The requests of some methods and paths, such as "POST at /v1/exports, /v1/exports/*"; empty for all. */
export function requestsText({ methods, paths }: Requests): string {
  return [methods?.join(', '), paths?.join(', ')].filter(Boolean).join(' at ')
}
