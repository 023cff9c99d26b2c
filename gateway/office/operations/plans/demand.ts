import { latestDays } from '../../../front/counts/usage.ts'
import { windowNames } from '../../../../shared/windows.ts'
import { nearPart, planDemand, type Distribution, type PlanDemand } from '../../foresight/demand.ts'
import { operation } from '../operation.ts'
import { aligned } from '../table.ts'
import { planName, planOf, recentDays } from './parameters.ts'

export const showDemand = operation({
  name: 'plans demand',
  at: ['GET /admin/plans/{name}/demand'],
  summary: 'Show how much of its limits the quotas of a plan use, by day',
  details:
    'Of each quota (a key, or an account) and day the highest minute and the use of the day are kept, for 90 days, and the ' +
    'highest use of each other window that has a limit.',
  parameters: { name: planName, days: recentDays },
  role: 'read',
  takesLong: () => true,
  run: async ({ config, stores, clock, flush }, { name, days }) => {
    const plan = planOf(config, name)
    await flush()
    return planDemand(stores(), { plan, ...latestDays(days, clock()), nowMs: clock() })
  },
  text: table,
})

const legend =
  'HIGHEST: the highest minute of the day, the day as a whole, and the highest of each other window with a limit. MEDIAN, P90, P99, MOST: half, 90 %, 99 % and all of the ' +
  `quotas used no more than this. NEAR: quotas at ${nearPart * 100} % of the limit or more. REFUSED: quotas that it refused.`

function table({ plan, byDay }: PlanDemand): string {
  if (byDay.length === 0) return `No key of the plan ${plan} was used.`
  const numbers = ({ quotas, median, p90, p99, highest, near, refused }: Distribution) => {
    return [quotas, median, p90, p99, highest, near, refused]
  }
  const rows = byDay.flatMap((ofDay) =>
    windowNames
      .flatMap((name) => (ofDay[name] ? [[name, ...numbers(ofDay[name])]] : []))
      .map((cells, i) => [i === 0 ? ofDay.on : '', ...cells]),
  )
  const heads = ['DAY', 'HIGHEST', 'QUOTAS', 'MEDIAN', 'P90', 'P99', 'MOST', 'NEAR', 'REFUSED']
  return `${aligned([heads, ...rows])}\n\n${legend}`
}
