import { nearPart } from '../../foresight/demand.ts'
import { plansToday, type PlanToday } from '../../foresight/plans-today.ts'
import { operation } from '../operation.ts'
import { aligned } from '../table.ts'
import { limitsText } from './texts.ts'

export const listPlans = operation({
  name: 'plans list',
  at: ['GET /admin/plans'],
  summary: 'List the plans: their keys, quotas near a limit, and requests of today',
  details: 'A plan that keys have and the configuration doesn’t is listed too: its keys get 403.',
  parameters: {},
  role: 'read',
  takesLong: () => true,
  run: async ({ config, stores, clock, flush }) => {
    await flush()
    return plansToday(stores(), config.plans, clock())
  },
  text: table,
})

function table(plans: readonly PlanToday[]): string {
  const rows = plans.map(({ name, limits, keys, near, admittedToday, refusedToday }) => [
    name,
    limits === null ? 'not in the configuration' : limitsText(limits),
    ...[keys, near, admittedToday, refusedToday],
  ])
  const heads = ['PLAN', 'LIMITS', 'KEYS', 'NEAR', 'ADMITTED TODAY', 'REFUSED TODAY']
  const legend = `NEAR: quotas that reached ${nearPart * 100} % of one of their limits today.`
  return `${aligned([heads, ...rows])}\n\n${legend}`
}
