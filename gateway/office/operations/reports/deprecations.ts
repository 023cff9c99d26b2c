import { latestDays } from '../../../front/counts/usage.ts'
import { printable } from '../../../../shared/printable.ts'
import { timeText } from '../../../../shared/times.ts'
import { announcer, type Announced } from '../../../front/config/deprecations.ts'
import { dayMs } from '../../../../shared/windows.ts'
import type { Context } from '../context.ts'
import type { Config } from '../../../front/config/config.ts'
import {
  callsByDay,
  callsCsv,
  callsView,
  deprecatedCalls,
  type DeprecatedCalls,
  type OwnSunset,
  type ReportedCalls,
} from '../../../front/counts/deprecated-calls.ts'
import { quotaCount } from '../kinds.ts'
import { Listed } from '../listed.ts'
import { operation } from '../operation.ts'
import { days, textOf, valueOf } from '../parameters.ts'
import { aligned } from '../table.ts'

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
    limit: valueOf(quotaCount, 'N', 'only the first N, which have most calls'),
  },
  role: 'read',
  takesLong: ({ key }) => key === undefined,
  run: async (context, { key, days, limit }) => {
    const { stores, desks, clock, flush } = context
    const { fromDay, toDay } = latestDays(days, clock())
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

export const deprecationDays = operation({
  name: 'deprecations days',
  at: ['GET /admin/deprecations/days'],
  summary: 'Show the calls of each deprecated operation by day',
  details: 'Days without calls are left out.',
  parameters: { days },
  role: 'read',
  takesLong: () => true,
  run: async ({ stores, clock, flush }, { days }) => {
    const { fromDay, toDay } = latestDays(days, clock())
    await flush()
    return callsByDay(stores().tallies, fromDay, toDay)
  },
  text: (calls) => {
    if (calls.length === 0) return 'No key has called a deprecated operation.'
    const rows = calls.map(({ operation, day, calls, keys }) => [operation, day, calls, keys])
    return aligned([['OPERATION', 'DAY', 'CALLS', 'KEYS'], ...rows])
  },
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

/** A sunset is near this long before it, and a key still calls if it did within this time. */
const nearMs = 30 * dayMs

type Called = Pick<DeprecatedCalls, 'key' | 'operation' | 'lastMs'>

/** Gives the function that tells a calling key's own sunset of an operation. */
async function ownSunsets(context: Context): Promise<(called: Called) => OwnSunset> {
  const { deprecations } = context.config
  const nowMs = context.clock()
  const announcers = new Map(deprecations.map((each) => [each.operation, announcer(each)] as const))
  const accountByKey = await accountsOfExtensions(context)
  return ({ key, operation, lastMs }) => {
    const announced = announcers.get(operation)?.({ id: key, account: accountByKey.get(key) })
    const { sunsetMs, extension } = announced ?? {}
    const stillCalls = lastMs >= nowMs - nearMs
    return {
      sunsetMs,
      extension,
      needsExtension: stillCalls && announced !== undefined && endsSoon(announced, nowMs),
    }
  }
}

function endsSoon({ deprecation, sunsetMs, extension }: Announced, nowMs: number): boolean {
  if (extension || deprecation.afterSunset !== 'gone') return false
  return sunsetMs !== undefined && sunsetMs <= nowMs + nearMs
}

/** The accounts that have an extension, by key. Only their keys are looked up. */
async function accountsOfExtensions({
  config,
  desks,
}: Context): Promise<ReadonlyMap<string, string>> {
  const accounts = config.deprecations.flatMap(({ extensions }) =>
    extensions.flatMap(({ account }) => account ?? []),
  )
  const accountByKey = new Map<string, string>()
  for (const account of new Set(accounts)) {
    for (const { id } of await desks().keys.keysOf(account)) accountByKey.set(id, account)
  }
  return accountByKey
}
