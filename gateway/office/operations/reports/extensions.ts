import { timeText } from '../../../../shared/times.ts'
import { deprecatedCalls, type DeprecatedCalls } from '../../../front/counts/deprecated-calls.ts'
import { keyNames } from '../../../front/keys/names.ts'
import { operation } from '../operation.ts'
import { days, dayRange } from '../parameters.ts'
import { aligned } from '../table.ts'
import { ownSunsets } from './sunsets.ts'

export const listExtensions = operation({
  name: 'extensions list',
  at: ['GET /admin/extensions'],
  summary: 'List the keys and accounts with a later sunset, and whether they still need it',
  details:
    'Calls are those that the extension allowed. A key with an extension of its own doesn’t count in that of its account.',
  parameters: { days },
  role: 'read',
  takesLong: () => true,
  run: async (context, { days }) => {
    const { stores, clock, flush, config, desks } = context
    const { fromDay, toDay } = dayRange(days, clock)
    await flush()
    const calls = await deprecatedCalls(stores(), fromDay, toDay)
    const sunsetOf = await ownSunsets(context)
    const callsOf = new Map<object, DeprecatedCalls[]>()
    for (const call of calls) {
      const { extension } = sunsetOf(call)
      if (extension) callsOf.set(extension, [...(callsOf.get(extension) ?? []), call])
    }
    const all = config.deprecations.flatMap((deprecation) =>
      deprecation.extensions.map((extension) => ({ ...deprecation, extension })),
    )
    const ids = all.flatMap(({ extension }) => extension.key ?? [])
    const nameOf = await keyNames(stores().keys, ids)
    return Promise.all(
      all.map(async ({ operation, extension }) => {
        const { key = null, account = null, untilMs, spare } = extension
        const own = callsOf.get(extension) ?? []
        const name = key === null ? null : nameOf(key)
        const lastMs = Math.max(...own.map(({ lastMs }) => lastMs))
        return {
          operation,
          key,
          name,
          account,
          /** Whether such a key, or a key of such an account, exists. */
          exists: name === null ? (await desks().keys.countOf(account ?? '')) > 0 : name !== '',
          until: new Date(untilMs).toISOString(),
          spare,
          calls: own.reduce((sum, { calls }) => sum + calls, 0),
          last: own.length > 0 ? new Date(lastMs).toISOString() : null,
        }
      }),
    )
  },
  text: (extensions) => {
    if (extensions.length === 0) return 'No key and no account has a later sunset.'
    const rows = extensions.map(
      ({ operation, key, name, account, exists, until, spare, calls, last }) => [
        operation,
        key ?? `account ${account}`,
        exists ? (name ?? '') : 'unknown',
        timeText(Date.parse(until)),
        spare ? 'spared' : '',
        calls,
        last === null ? 'never' : timeText(Date.parse(last)),
      ],
    )
    const heads = ['OPERATION', 'FOR', 'NAME', 'UNTIL', 'BROWNOUTS', 'CALLS', 'LAST']
    return aligned([heads, ...rows])
  },
})
