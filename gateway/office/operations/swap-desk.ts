import type { Config } from '../../front/config/config.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import type { Noted } from '../../front/records/audit.ts'
import { begunAnew, stepped, wentBack, type SwapProgress } from '../../front/swaps/progress.ts'
import { measureOf } from '../../front/swaps/judge.ts'
import { sumOf } from '../../front/swaps/side-counts.ts'
import type { SeenSwap, SwapStore } from '../../front/swaps/store.ts'
import { isSwapped, swapNameOf, type SwappedUpstream } from '../../front/swaps/swap.ts'
import { swapView, type SwapView } from '../../front/swaps/view.ts'

export type SwapDeskOptions = Readonly<{
  store: SwapStore
  upstreams: Config['upstreams']
  /** Writes each change to the audit. */
  noted: Noted
  /** The author of changes. */
  by: string
}>

/** Tries to change a progress that gateways change as well. */
const mostTries = 5

type Change = (
  progress: SwapProgress,
  seen: SeenSwap,
  upstream: SwappedUpstream,
) => SwapProgress | string

/** The operations on swaps, for the command line and the admin API. */
export class SwapDesk {
  readonly #options: SwapDeskOptions

  constructor(options: SwapDeskOptions) {
    this.#options = options
  }

  /** All swaps of the configuration, or that of one upstream, by the names of upstreams. */
  async list(named: string | undefined): Promise<Readonly<Record<string, SwapView>>> {
    const { upstreams, store } = this.#options
    if (named !== undefined && !upstreams.has(named)) this.#described(named)
    const described = [...upstreams.values()]
      .filter(isSwapped)
      .filter(({ name }) => name === (named ?? name))
    const views = described.map(async (upstream) => {
      return [upstream.name, swapView(upstream, await store.look(swapNameOf(upstream)))] as const
    })
    return Object.fromEntries(await Promise.all(views))
  }

  pause(named: string): Promise<SwapView> {
    return this.#change(named, 'pause', (progress, _seen, { swap }) => {
      if (!isOnItsWay(progress, swap.steps.length)) return 'is not on its way'
      return progress.isPaused ? 'is paused already' : { ...progress, isPaused: true }
    })
  }

  /** Lets a paused swap go on, and one that was refused or went back begin anew. */
  resume(named: string): Promise<SwapView> {
    return this.#change(named, 'resume', (progress, { nowMs }) => {
      if (progress.state === 'back' || progress.state === 'refused')
        return begunAnew(progress, nowMs)
      return progress.isPaused ? { ...progress, isPaused: false } : 'is not paused'
    })
  }

  back(named: string): Promise<SwapView> {
    return this.#change(named, 'back', (progress, { nowMs }) => {
      if (progress.state === 'back') return 'is back already'
      return wentBack(progress, `${this.#options.by} called it back`, nowMs)
    })
  }

  finish(named: string): Promise<SwapView> {
    return this.#change(named, 'finish', (progress, { nowMs, counts }, { swap }) => {
      if (!isOnItsWay(progress, swap.steps.length)) return 'is not on its way'
      const measure = measureOf(sumOf(counts).old.measure, progress.before, swap.back)
      return stepped(progress, swap.steps.length, measure, nowMs)
    })
  }

  async #change(named: string, what: string, change: Change): Promise<SwapView> {
    const { store, noted } = this.#options
    const upstream = this.#described(named)
    const name = swapNameOf(upstream)
    for (let tries = 0; tries < mostTries; tries++) {
      const seen = await store.look(name)
      const { progress } = seen
      const after = progress ? change(progress, seen, upstream) : 'has not begun'
      if (typeof after === 'string') {
        throw new KeyMistake(`the swap of ${named} ${after}`, 'conflict')
      }
      if (!(await store.change(name, seen.version, after))) continue
      await noted({ what: `swap.${what}`, subject: named, before: progress ?? null, after })
      return swapView(upstream, await store.look(name))
    }
    throw new KeyMistake(`the swap of ${named} changes all the time; try again`, 'conflict')
  }

  #described(named: string): SwappedUpstream {
    const { upstreams } = this.#options
    const upstream = upstreams.get(named)
    if (upstream && isSwapped(upstream)) return upstream
    const all = [...upstreams.values()].filter(isSwapped).map(({ name }) => name)
    const others =
      all.length > 0
        ? `there is one of ${all.join(', ')}`
        : 'the configuration describes none: see swap in the section upstreams'
    throw new KeyMistake(`there is no swap of an upstream "${named}"; ${others}`, 'not_found')
  }
}

function isOnItsWay({ state, step }: SwapProgress, steps: number): boolean {
  return state === 'moving' && step < steps
}
