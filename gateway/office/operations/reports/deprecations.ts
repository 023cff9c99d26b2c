import { printable } from '../../../../shared/printable.ts'
import { timeText } from '../../../../shared/times.ts'
import type { Config } from '../../../front/config/config.ts'
import {
  callsCsv,
  callsView,
  deprecatedCalls,
  type ReportedCalls,
} from '../../../front/counts/deprecated-calls.ts'
import { quotaCount } from '../kinds.ts'
import { Listed } from '../listed.ts'
import { operation } from '../operation.ts'
import { days, dayRange, textOf } from '../parameters.ts'
import { aligned } from '../table.ts'
import { ownSunsets } from './sunsets.ts'

export const reportDeprecations = operation({
  name: 'deprecations report',
  at: ['GET /admin/deprecations'],
  summary: 'List the keys that still call deprecated operations',
  details:
    'Calls are counted when they come, by day, and kept for 90 days. A key needs an extension if it has none, called ' +
    'within 30 days, and the sunset is in less than 30 days or over. The last line has all extensions.',
  parameters: {
    key: textOf('KEY', 'only calls of this key'),
    days,
    limit: { kind: quotaCount, value: 'N', help: 'only the first N, which have most calls' },
  },
  role: 'read',
  takesLong: ({ key }) => key === undefined,
  run: async (context, { key, days, limit }) => {
    const { stores, desks, clock, flush } = context
    const { fromDay, toDay } = dayRange(days, clock)
    const id = key === undefined ? undefined : (await desks().keys.find(key)).key.id
    await flush()
    const calls = await deprecatedCalls(stores(), fromDay, toDay, id)
    const sunsetOf = await ownSunsets(context)
    return calls.slice(0, limit).map((each): ReportedCalls => ({ ...each, ...sunsetOf(each) }))
  },
  json: (calls) => Listed.of(calls, callsView),
  csv: callsCsv,
  text: (calls, { config }) => [table(calls), ...extensionsText(config)].join('\n\n'),
})

function table(calls: readonly ReportedCalls[]): string {
  if (calls.length === 0) return 'No key has called a deprecated operation.'
  const rows = calls.map((each) => {
    const { key, name, operation, calls, lastMs } = each
    return [key, name, operation, calls, timeText(lastMs), sunsetText(each)]
  })
  return aligned([['ID', 'NAME', 'OPERATION', 'CALLS', 'LAST', 'SUNSET'], ...rows])
}

function sunsetText({ sunsetMs, extension, needsExtension }: ReportedCalls): string {
  if (sunsetMs === undefined) return ''
  return `${timeText(sunsetMs)}${extension ? ', extended' : needsExtension ? ', not extended' : ''}`
}

/** All extensions in a line: a key that has one and doesn't call is in no row. */
function extensionsText({ deprecations }: Config): string[] {
  const all = deprecations.flatMap(({ operation, extensions }) =>
    extensions.map(({ key, account, untilMs, spare }) => {
      const spared = spare ? ', spared by brownouts' : ''
      return `${operation} for ${key ?? `the account ${account}`} until ${timeText(untilMs)}${spared}`
    }),
  )
  return all.length > 0 ? [printable(`Extended: ${all.join('; ')}.`)] : []
}
