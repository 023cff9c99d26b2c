import { operation, type AnswerOf } from '../operation.ts'
import { monthsText, ofAccount, sharing } from './consequences.ts'
import { ownLimitsText, standingLimitsText, uselessLimits } from './limit-texts.ts'
import { monthFrom, newKey, settingsFrom } from './settings.ts'
import { expiryText, issuedText } from './texts.ts'

export const createKey = operation({
  name: 'keys create',
  at: ['POST /admin/keys'],
  summary: 'Create a key and show its token once',
  parameters: { ...newKey, monthFrom },
  changes: true,
  role: 'all',
  run: async ({ desks, clock }, values) => {
    const { name, plan, test, monthFrom } = values
    const { keys, quotas } = desks()
    // Before the change: after it, a store that fails would take the new token along.
    const warnings = await keys.sameNameWarnings(name)
    const settings = { ...settingsFrom(values, clock()), name, plan, test: test || undefined }
    const issued = await keys.create(settings)
    if (monthFrom === undefined) return { ...issued, warnings }
    const { id } = issued.key
    try {
      await quotas.setMonthFrom(id, monthFrom)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const again = `tollgate quota month ${id} --from ${monthFrom} does it`
      const warning = `the day on which its months begin could not be set (${why}): ${again}`
      // The token is shown this once.
      return { ...issued, warnings: [...warnings, warning] }
    }
    return { ...issued, warnings }
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
    const { monthFrom } = standing
    const consequences = [
      `Its limits are ${standingLimitsText(standing)}.`,
      ...(key.cap ? [`It may use at most ${ownLimitsText(key.cap)} of its account.`] : []),
      ...expiryText(key),
      ...(await sharing(key, keys)),
      ...(monthFrom === undefined ? [] : [monthsText(monthFrom)]),
      ...uselessLimits(standing),
      ...ofAccount(key),
    ]
    return issuedText('Created', key, token, consequences)
  },
})

export type MadeKey = AnswerOf<typeof createKey>
