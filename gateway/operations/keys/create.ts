import { operation } from '../operation.ts'
import { sharing, uselessMinute } from './consequences.ts'
import { newKey, settingsFrom } from './settings.ts'
import { issuedText } from './texts.ts'

export const createKey = operation({
  name: 'keys create',
  at: ['POST /admin/keys'],
  summary: 'Make a key and show its token, once',
  parameters: newKey,
  changes: true,
  role: 'all',
  run: ({ desks, clock }, given) => {
    const { name, plan, test } = given
    const settings = settingsFrom(given, clock())
    return desks().keys.create({ ...settings, name, plan, test: test || undefined })
  },
  location: ({ key }) => `/admin/keys/${key.id}`,
  json: ({ key, token }) => ({ id: key.id, key: token, plan: key.plan }),
  text: async ({ key, token }, { desks }) => {
    const { keys, quotas } = desks()
    const { standing } = await quotas.describe(key)
    const consequences = [...(await sharing(key, keys)), ...uselessMinute(standing)]
    return issuedText('Made', key, token, consequences)
  },
})
