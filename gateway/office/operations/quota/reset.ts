import { printable } from '../../../../shared/printable.ts'
import { endText } from '../../../../shared/times.ts'
import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'

export const resetQuota = operation({
  name: 'quota reset',
  at: ['POST /admin/quota/{id}/reset'],
  summary: 'Reset all windows of a key, or of its account',
  parameters: { key: oneKey },
  changes: true,
  role: 'support',
  run: async ({ desks }, { key }) => {
    const { quotas } = desks()
    await quotas.reset(key.id)
    return quotas.show(key.id)
  },
  text: ({ id, quota, bannedUntil }, { clock }) => {
    const banned =
      bannedUntil === null
        ? ''
        : ` Its ban goes on until ${endText(bannedUntil * 1_000, clock())}; tollgate bans lift ${id} ends it.`
    return `The counters of ${printable(quota.replace(':', ' '))} are reset.${banned}`
  },
})
