import { printable } from '../../../../shared/printable.ts'
import { endText } from '../../../../shared/times.ts'
import { operation } from '../operation.ts'
import { aSwitch, oneKey, textOf, valueOf } from '../parameters.ts'
import { withCommas } from '../../../../shared/commas.ts'
import { byLimit, limitNames, windows } from '../../../../shared/windows.ts'
import { requireAlive } from '../../../front/keys/may-change.ts'
import { points } from '../kinds.ts'
import { monthFrom } from '../keys/settings.ts'
import { movedMonths, sharing } from '../keys/consequences.ts'

export const resetQuota = operation({
  name: 'quota reset',
  at: ['POST /admin/quota/{id}/reset'],
  summary: 'Reset all windows of a key, or of its account',
  parameters: {
    key: oneKey,
    places: aSwitch(
      'only free the places of its requests under way: each gateway tells its own anew within two seconds',
    ),
  },
  changes: true,
  role: 'support',
  run: async ({ desks }, { key, places = false }) => {
    const { quotas } = desks()
    await (places ? quotas.freePlaces(key.id) : quotas.reset(key.id))
    return { view: await quotas.show(key.id), places }
  },
  json: ({ view }) => view,
  text: ({ view: { id, quota, bannedUntil }, places }, { clock }) => {
    if (places) return `The places of ${printable(quota.replace(':', ' '))} are free.`
    const banned =
      bannedUntil === null
        ? ''
        : ` Its ban goes on until ${endText(bannedUntil * 1_000, clock())}; tollgate bans lift ${id} ends it.`
    return `The counters of ${printable(quota.replace(':', ' '))} are reset.${banned}`
  },
})

export const grantQuota = operation({
  name: 'quota grant',
  at: ['POST /admin/quota/{id}/grant'],
  summary: 'Add points to the present windows of a key, or of its account',
  details:
    'They are gone with their window, on every gateway. Several grants add up; at most 50 may hold at a time.',
  parameters: {
    key: oneKey,
    ...byLimit(({ name }) => ({
      ...valueOf(points, 'N', `points for this ${name}`),
      option: name,
    })),
    note: textOf('TEXT', 'the reason, for other operators'),
  },
  needsOneOf: limitNames,
  changes: true,
  role: 'support',
  run: async ({ desks }, { key, note, ...given }) => {
    requireAlive(key)
    const named = windows.filter(({ limit }) => given[limit] !== undefined)
    const granted = Object.fromEntries(named.map(({ limit }) => [limit, given[limit] ?? 0]))
    return desks().quotas.grant(key.id, { ...granted, note })
  },
  text: (view, { clock }) =>
    windows
      .flatMap(({ name, limit, each }) => {
        const window = view[name]
        if (!window || !view.grants.some((grant) => grant[limit])) return []
        const end = endText(window.reset * 1_000, clock())
        const { used, included } = window
        // A window that is metered without a bound has no limit: its grant adds to the included points.
        const most = window.limit ?? included ?? 0
        const what = window.limit === null ? 'It includes' : 'Its limit is'
        const [ofMost, ofUsed] = [most, used].map(withCommas)
        return [`${what} ${ofMost} ${each} until ${end}, ${ofUsed} of them used.`]
      })
      .join('\n'),
})

export const setQuotaMonth = operation({
  name: 'quota month',
  at: ['POST /admin/quota/{id}/month'],
  summary: 'Move the billing day of a key, or of its account',
  details:
    'The present month begins anew, with nothing used; what was used in other windows stays. All keys of an account share ' +
    'its months.',
  parameters: { key: oneKey, monthFrom: { ...monthFrom, option: 'from', isRequired: true } },
  changes: true,
  role: 'support',
  run: async ({ desks }, { key, monthFrom }) => {
    return { key, monthFrom, ...(await desks().quotas.setMonthFrom(key.id, monthFrom)) }
  },
  json: ({ view }) => view,
  text: async ({ key, monthFrom, isChanged }, { desks }) => {
    const what = isChanged
      ? movedMonths(monthFrom)
      : [`Its months begin on day ${monthFrom} already; nothing has changed.`]
    return [...what, ...(await sharing(key, desks().keys))].join('\n')
  },
})
