import { withCommas } from '../../../../shared/commas.ts'
import { byLimit, limitNames, windows } from '../../../../shared/windows.ts'
import { endText } from '../../../../shared/times.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { points } from '../kinds.ts'
import { operation } from '../operation.ts'
import { oneKey, textOf, valueOf } from '../parameters.ts'

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
    if (key.revokedAtMs !== undefined) {
      throw new KeyMistake(`the key "${key.id}" is revoked, and nothing lets it in`, 'conflict')
    }
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
