import { operation, type AnswerOf } from '../operation.ts'
import { ofAccount, sharing } from './consequences.ts'
import { uselessLimits } from './limit-texts.ts'
import { newKey, settingsFrom } from './settings.ts'
import { issuedText } from './texts.ts'

export const createKey = operation({
  name: 'keys create',
  at: ['POST /admin/keys'],
  summary: 'Make a key and show its token, once',
  parameters: newKey,
  changes: true,
  role: 'all',
  run: async ({ desks, clock }, values) => {
    const { name, plan, test } = values
    const { keys } = desks()
    // Before the change: after it, a store that fails would take the new token along.
    const warnings = await keys.sameNameWarnings(name)
    const settings = { ...settingsFrom(values, clock()), name, plan, test: test || undefined }
    return { ...(await keys.create(settings)), warnings }
  },
  location: ({ key }) => `/admin/keys/${key.id}`,
  json: ({ key, token, warnings }) => ({
    id: key.id,
    key: token,
    plan: key.plan,
    ...(warnings.length > 0 ? { warnings } : {}),
  }),
  warnings: ({ warnings }) => warnings,
  text: async ({ key, token }, { desks }) => {
    const { keys, quotas } = desks()
    const { standing } = await quotas.describe(key)
    const consequences = [
      ...(await sharing(key, keys)),
      ...uselessLimits(standing),
      ...ofAccount(key),
    ]
    return issuedText('Made', key, token, consequences)
  },
})

export type MadeKey = AnswerOf<typeof createKey>
