import { withCommas } from '../../../../shared/commas.ts'
import { rareFigures } from '../../../front/counts/use.ts'
import { windowNames } from '../../../../shared/windows.ts'
import { latestDays, usage, type Usage } from '../../../front/counts/usage.ts'
import { Listed } from '../listed.ts'
import { operation } from '../operation.ts'
import { sumOf } from '../../foresight/views.ts'
import { days } from '../parameters.ts'
import { aligned } from '../table.ts'

export const showUsage = operation({
  name: 'usage',
  at: ['GET /admin/usage', 'GET /admin/usage/{id}'],
  summary: 'Show the usage of each key in total, or of one key by day',
  details:
    'Counted by day (UTC), kept for 90 days, and written to the store every four seconds. Requests ' +
    'without a valid key are not included; the metrics have them.',
  parameters: { key: { isKey: true }, days },
  role: 'read',
  takesLong: ({ key }) => key === undefined,
  run: async ({ stores, clock, flush }, { key, days }) => {
    await flush()
    return usage(stores(), { ...latestDays(days, clock()), key: key?.id })
  },
  json: (usages) => Listed.of(usages, (usage) => usage),
  text: table,
})

const answerClasses = ['2xx', '3xx', '4xx', '5xx']

function table(usages: readonly Usage[]): string {
  if (usages.length === 0) return 'No key was used.'
  const hasTests = usages.some(({ day, test }) => day === undefined && test)
  const rare = rareFigures.filter((name) => usages.some((each) => each[name] !== undefined))
  const rows = usages.map(
    ({ day, key, name, test, admitted, points, refused, windows, answers, ...more }) => [
      ...(day === undefined ? [key, name] : [day]),
      ...(hasTests ? [test ? 'yes' : ''] : []),
      admitted,
      points,
      ...rare.map((figure) => more[figure] ?? 0),
      sumOf(refused),
      ...answerClasses.map((each) => answers[each] ?? 0),
      Object.entries(refused)
        .map(([code, count]) => `${withCommas(count)} ${code}${windowsText(code, windows)}`)
        .join(', '),
    ],
  )
  const first = usages[0]?.day === undefined ? ['ID', 'NAME'] : ['DAY']
  const heads = [
    ...first,
    ...(hasTests ? ['TEST'] : []),
    'ADMITTED',
    'POINTS',
    ...rare.map((figure) => figure.toUpperCase()),
    'REFUSED',
    '2XX',
    '3XX',
    '4XX',
    '5XX',
    'REFUSED FOR',
  ]
  return aligned([heads, ...rows])
}

/** Which windows were used up, beside the number of refusals by a limit. */
function windowsText(code: string, windows: Usage['windows']): string {
  if (code !== 'rate_limit_exceeded') return ''
  const parts = windowNames.flatMap((name) =>
    windows[name] ? [`${withCommas(windows[name])} ${name}`] : [],
  )
  return parts.length > 0 ? ` (${parts.join(', ')})` : ''
}
