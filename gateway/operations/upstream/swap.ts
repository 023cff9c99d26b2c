import type { SwapView } from '../../swaps/view.ts'
import type { SwapDesk } from '../swap-desk.ts'
import type { Endpoint } from '../context.ts'
import { anyText } from '../kinds.ts'
import { operation } from '../operation.ts'
import { aligned } from '../table.ts'
import { percentText } from '../../swaps/judge.ts'

const upstreamName = {
  kind: anyText,
  value: 'NAME',
  help: 'the upstream',
  isArgument: true,
} as const

export const swapStatus = operation({
  name: 'upstream swap status',
  at: ['GET /admin/swaps'],
  summary: 'Tell where the swap of an upstream stands, and compare both sides',
  details: 'The counts are those of the present step, of all gateways.',
  parameters: { upstream: { ...upstreamName, help: 'the upstream; all by default' } },
  role: 'read',
  run: ({ desks }, { upstream }) => desks().swaps.list(upstream),
  text: (byUpstream) => {
    const views = Object.values(byUpstream)
    if (views.length === 0) return 'The configuration describes no swap.'
    return views.map(viewText).join('\n\n')
  },
})

export const pauseSwap = swapChange('pause', 'Keep a swap at its step', (desk, name) =>
  desk.pause(name),
)
export const resumeSwap = swapChange(
  'resume',
  'Let a paused swap go on, or one that went back begin anew',
  (desk, name) => desk.resume(name),
)
export const callBackSwap = swapChange(
  'back',
  'Send all callers back to the present targets at once',
  (desk, name) => desk.back(name),
)
export const finishSwap = swapChange(
  'finish',
  'Send all callers to the new targets at once',
  (desk, name) => desk.finish(name),
)

function swapChange(
  verb: 'pause' | 'resume' | 'back' | 'finish',
  summary: string,
  change: (desk: SwapDesk, name: string) => Promise<SwapView>,
) {
  const at: Endpoint = `POST /admin/upstreams/{name}/swap/${verb}`
  return operation({
    name: `upstream swap ${verb}`,
    at: [at],
    summary,
    parameters: { name: { ...upstreamName, isRequired: true } },
    changes: true,
    role: 'all',
    run: ({ desks }, { name }) => change(desks().swaps, name),
    text: ({ summary }) => summary,
  })
}

function viewText(view: SwapView): string {
  const row = (name: string, side: SwapView['old']): string[] => [
    name,
    String(side.requests),
    String(side.failures),
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
