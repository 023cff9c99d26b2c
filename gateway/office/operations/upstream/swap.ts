import { setTimeout as sleep } from 'node:timers/promises'
import type { SideView, SwapState, SwapView } from '../../../front/swaps/view.ts'
import type { SwapDesk } from '../swap-desk.ts'
import type { Context, Endpoint } from '../context.ts'
import { waitTime } from '../kinds.ts'
import { textOf } from '../parameters.ts'
import { operation, WrongInput } from '../operation.ts'
import { aligned, type Cell } from '../table.ts'
import { percentText } from '../../../front/swaps/judge.ts'

const upstreamName = { ...textOf('NAME', 'the upstream'), isArgument: true } as const

export const swapStatus = operation({
  name: 'upstream swap status',
  at: ['GET /admin/swaps'],
  summary: 'Show how far the swap of an upstream is, and compare both sides',
  details:
    'The counts are those of the present step, of all gateways. With --wait, the command waits until the swap is over; exit ' +
    'code 0: all callers are at the new side, 1: they are back, there is no swap, or the time is over. With --guard it waits ' +
    'on after the last step, for which --wait sets no limit. Of several swaps, NAME says which.',
  parameters: {
    upstream: { ...upstreamName, help: 'the upstream; all by default' },
    wait: {
      kind: waitTime,
      value: 'DURATION',
      help: 'wait until the swap is over; without a duration, as long as it takes',
      bareText: '',
      isOfCommand: true,
    },
    guard: {
      kind: waitTime,
      value: 'DURATION',
      help: 'with --wait: exit code 1 also if it goes back within this time after the last step',
      isOfCommand: true,
    },
  },
  role: 'read',
  run: async ({ desks, clock }, { upstream, wait: mostMs, guard: guardMs = 0 }) => {
    const look = () => desks().swaps.list(upstream)
    if (mostMs === undefined) {
      if (guardMs > 0) throw new WrongInput('--guard needs --wait')
      return { byUpstream: await look(), isRefused: false }
    }
    const byUpstream = await atItsEnd(look, { mostMs, guardMs, clock })
    const [view] = Object.values(byUpstream)
    return { byUpstream, isRefused: view?.state !== 'all' }
  },
  json: ({ byUpstream }) => byUpstream,
  isRefused: ({ isRefused }) => isRefused,
  text: ({ byUpstream }) => {
    const views = Object.values(byUpstream)
    if (views.length === 0) return 'The configuration describes no swap.'
    return views.map(viewText).join('\n\n')
  },
})

type Views = Readonly<Record<string, SwapView>>

/** The time between two looks at a swap that is waited for. */
const lookEveryMs = 1_000

type Wait = Readonly<{ mostMs: number; guardMs: number; clock: Context['clock'] }>

/** The one swap when it is over and was guarded, or as it is when the time is over. */
async function atItsEnd(
  look: () => Promise<Views>,
  { mostMs, guardMs, clock }: Wait,
): Promise<Views> {
  let endsAtMs = performance.now() + mostMs
  let isOnGuard = false
  for (;;) {
    const byUpstream = await look()
    const [view, ...others] = Object.values(byUpstream)
    if (others.length > 0) {
      const names = Object.keys(byUpstream).join(', ')
      throw new WrongInput(`--wait is for one swap, and there are those of ${names}: name one`)
    }
    if (view?.state === 'all' && !isOnGuard) {
      isOnGuard = true
      const passedMs = Math.max(0, clock() - Date.parse(view.since ?? ''))
      endsAtMs = performance.now() + guardMs - passedMs
    }
    const leftMs = endsAtMs - performance.now()
    if (!view || backStates.has(view.state) || leftMs <= 0) return byUpstream
    await sleep(Math.min(lookEveryMs, leftMs))
  }
}

/** The states that only an operator, or another configuration, ends, and in which callers are at the old side. */
const backStates: ReadonlySet<SwapState> = new Set(['back', 'refused'])

export const pauseSwap = swapChange('pause', 'Keep a swap at its step')
export const resumeSwap = swapChange(
  'resume',
  'Resume a paused swap, or restart one that went back',
)
export const callBackSwap = swapChange(
  'back',
  'Send all callers back to the present targets at once',
)
export const finishSwap = swapChange('finish', 'Send all callers to the new targets at once')

function swapChange(verb: Exclude<keyof SwapDesk, 'list'>, summary: string) {
  const at: Endpoint = `POST /admin/upstreams/{name}/swap/${verb}`
  return operation({
    name: `upstream swap ${verb}`,
    at: [at],
    summary,
    parameters: { name: { ...upstreamName, isRequired: true } },
    changes: true,
    role: 'all',
    run: ({ desks }, { name }) => desks().swaps[verb](name),
    text: ({ summary }) => summary,
  })
}

function viewText(view: SwapView): string {
  const row = (name: string, side: SideView): Cell[] => [
    name,
    side.requests,
    side.failures,
    percentText(side.failureShare),
    side.p50Ms === null ? '-' : `${side.p50Ms}, ${side.p95Ms} ms`,
  ]
  const table = aligned([
    ['SIDE', 'REQUESTS', 'FAILED', 'SHARE', 'P50, P95'],
    row('old', view.old),
    row('new', view.new),
  ])
  return `${view.summary}\n\n${table}`
}
