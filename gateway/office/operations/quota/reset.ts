import { printable } from '../../../../shared/printable.ts'
import { endText } from '../../../../shared/times.ts'
import { operation } from '../operation.ts'
import { aSwitch, oneKey } from '../parameters.ts'

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
