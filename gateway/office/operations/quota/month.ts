import { monthFrom } from '../keys/settings.ts'
import { movedMonths, sharing } from '../keys/consequences.ts'
import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'

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
