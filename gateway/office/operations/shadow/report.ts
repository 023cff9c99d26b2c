import { latestDays } from '../../../front/counts/usage.ts'
import { timeText } from '../../../../shared/times.ts'
import {
  shadowCsv,
  shadowedWindows,
  shadowReport,
  type ShadowReport,
} from '../../foresight/shadows.ts'
import { operation } from '../operation.ts'
import { textOf } from '../parameters.ts'
import { planOf, recentDays } from '../plans/parameters.ts'
import { limitsText } from '../plans/texts.ts'
import { aligned } from '../table.ts'

export const reportShadow = operation({
  name: 'shadow report',
  at: ['GET /admin/shadow'],
  summary: 'List the keys that the shadow limits of their plans would have refused',
  details:
    'Shadow limits refuse nothing: they count what they would have refused beside the limits of the plan. Each ' +
    'window is judged for itself: the day of a shadow also counts what its minute would have refused before.',
  parameters: { plan: textOf('PLAN', 'only this plan'), days: recentDays },
  role: 'read',
  takesLong: () => true,
  run: async ({ config, stores, clock, flush }, { plan, days }) => {
    const plans = plan === undefined ? [...config.plans.values()] : [planOf(config, plan)]
    await flush()
    return shadowReport(stores(), plans, latestDays(days, clock()))
  },
  csv: shadowCsv,
  text: reportText,
})

const legend =
  'requests that were admitted, and that this window of the shadow would have refused. OF: all that were admitted. ' +
  'FIRST, LAST: the first and the last of those that it would have refused.'

/** The report for people, with the meaning of its columns. */
export function reportText(report: ShadowReport): string {
  const { shadows, keys } = report
  if (shadows.length === 0) return 'No plan has shadow limits.'
  const summaries = shadows.map(
    ({ plan, shadow, hash }) => `${plan}: shadow of ${limitsText(shadow)} (${hash})`,
  )
  if (keys.length === 0) return `${summaries.join('\n')}\n\nThey would have refused nothing.`
  const shown = shadowedWindows(report)
  const rows = keys.map(({ key, name, account = '', plan, refused, of, first, last }) => [
    key,
    name,
    account,
    plan,
    ...shown.map((window) => refused[window] ?? 0),
    of,
    first,
    timeText(Date.parse(last)),
  ])
  const by = shown.map((window) => `BY ${window.toUpperCase()}`)
  const heads = ['ID', 'NAME', 'ACCOUNT', 'PLAN', ...by, 'OF', 'FIRST', 'LAST']
  return `${summaries.join('\n')}\n\n${aligned([heads, ...rows])}\n\n${by.join(', ')}: ${legend}`
}
