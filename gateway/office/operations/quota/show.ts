import type { StoreSettings } from '../../../front/config/config.ts'
import { longestFirst, windows } from '../../../../shared/windows.ts'
import { printable } from '../../../../shared/printable.ts'
import { endText, timeText } from '../../../../shared/times.ts'
import type { QuotaView } from '../quota-desk.ts'
import { boundInWords } from '../keys/limit-texts.ts'
import { banText, stateText } from '../keys/texts.ts'
import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { aligned } from '../table.ts'

export const showQuota = operation({
  name: 'quota show',
  at: ['GET /admin/quota/{id}'],
  summary: 'Show how much of its windows a key has used, and whether it is banned',
  parameters: { key: oneKey },
  role: 'read',
  run: async ({ desks }, { key }) => ({ key, view: await desks().quotas.show(key.id) }),
  json: ({ view }) => view,
  text: async ({ key, view }, { desks, clock, config }) => {
    const details = await desks().quotas.describe(key)
    const { id, name, plan, quota, monthFrom } = view
    const shared = quota.startsWith('account:') ? `, shared by all keys of ${key.account}` : ''
    const lines = [
      `${id} (${printable(name)}, plan ${plan}): ${stateText(details, clock())}${printable(shared)}`,
      ...(view.bannedUntil === null ? [] : [`Why: ${printable(banText(view))}.`]),
      ...(view.strikes > 0 ? [`Strikes lately: ${view.strikes}.`] : []),
      ...(monthFrom === undefined ? [] : [`Its months begin on day ${monthFrom}.`]),
    ]
    return `${lines.join('\n')}\n\n${windowsText(view, clock())}${placesText(view, config.store)}${grantsText(view)}`
  },
})

const ofGatewayAlone =
  'With an embedded store only its gateway knows what is under way: GET /admin/quota/ID, or the console, tells it.'

/** How many requests are under way, and which gateways have them. A command reads a file, and places aren't in one. */
function placesText(
  { atOnce, operations, cap, underWay = [] }: QuotaView,
  { redis }: StoreSettings,
): string {
  const limited = [
    ['quota', atOnce],
    ...Object.entries(operations ?? {}).map(([name, view]) => [name, view.atOnce] as const),
    ['cap', cap?.atOnce],
  ] as const
  const rows = limited.flatMap(([name, state]) => {
    return state ? [[name, state.limit, redis ? state.used : '–']] : []
  })
  if (rows.length === 0) return ''
  const table = aligned([['AT ONCE', 'LIMIT', 'UNDER WAY'], ...rows])
  if (!redis) return `\n\n${table}\n${ofGatewayAlone}`
  const holders = underWay.map(({ gateway, operation, cap, count, since }) => {
    const of = operation ?? (cap ? 'cap' : 'quota')
    return [gateway, of, count, timeText(Date.parse(since))]
  })
  if (holders.length === 0) return `\n\n${table}`
  return `\n\n${table}\n\n${aligned([['GATEWAY', 'OF', 'UNDER WAY', 'SINCE'], ...holders])}`
}

/** The grants that are in the limits. */
function grantsText({ grants }: QuotaView): string {
  if (grants.length === 0) return ''
  const shown = longestFirst.filter(
    ({ isRequired, limit }) => isRequired || grants.some((grant) => grant[limit]),
  )
  const rows = grants.map(({ day, by, note, ...points }) => {
    return [day, ...shown.map(({ limit }) => points[limit] ?? '-'), by, note ?? '']
  })
  const heads = shown.map(({ name }) => name.toUpperCase())
  return `\n\n${aligned([['GRANTED', ...heads, 'BY', 'NOTE'], ...rows])}`
}

/** The windows. A banned key has nothing left in any. */
function windowsText(view: QuotaView, nowMs: number): string {
  const shown = windows.filter(({ name }) => view[name] !== undefined)
  const rows = shown.map(({ name }) => {
    const window = view[name]
    if (!window) return [name, view.offered ? 'unlimited' : 'none', '-', '-', '-']
    const left = view.bannedUntil === null ? (window.remaining ?? '-') : '0, banned'
    const reset = endText(window.reset * 1_000, nowMs)
    return [name, boundInWords(window), window.used, left, reset]
  })
  return aligned([['WINDOW', 'LIMIT', 'USED', 'LEFT', 'RESET'], ...rows])
}
