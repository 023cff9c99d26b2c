import type { Gateway } from '../../server.ts'
import { ofGateway } from '../operation.ts'
import { aligned } from '../table.ts'

/** The state of a target. */
export type TargetState = Readonly<{ healthy: boolean; weight: number; refusesSignature?: true }>

/** The targets of upstreams, by their names and addresses. */
export type UpstreamStates = Readonly<Record<string, Readonly<Record<string, TargetState>>>>

export const listUpstreams = ofGateway({
  name: 'upstream list',
  at: ['GET /admin/upstreams'],
  summary: 'List the targets behind the running gateway, and whether they are healthy',
  parameters: {},
  role: 'read',
  run: ({ gateway }) => Promise.resolve(upstreamStates(gateway)),
  text: (upstreams) => {
    const rows = Object.entries(upstreams).flatMap(([name, targets]) =>
      Object.entries(targets).map(([url, { healthy, weight, refusesSignature = false }]) => {
        const state = healthy ? 'healthy' : refusesSignature ? 'refuses our signature' : 'unhealthy'
        return [name, url, state, String(weight)]
      }),
    )
    if (rows.length === 0) return 'The gateway has asked no target yet.'
    return aligned([['UPSTREAM', 'TARGET', 'STATE', 'WEIGHT'], ...rows])
  },
})

/** The targets of each upstream with their states. */
export function upstreamStates({ config, core }: Gateway): UpstreamStates {
  return Object.fromEntries(
    [...config.upstreams].map(([name, settings]) => {
      const targets = core.upstreams.see(settings)?.targets ?? []
      const states = targets.map(({ origin, weight, isFit, refusesSignature }) => [
        origin,
        { healthy: isFit, weight, ...(refusesSignature ? { refusesSignature: true } : {}) },
      ])
      return [name, Object.fromEntries(states) as UpstreamStates[string]]
    }),
  )
}
