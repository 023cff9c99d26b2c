import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { keyText } from './texts.ts'

export const showKey = operation({
  name: 'keys show',
  at: ['GET /admin/keys/{id}'],
  summary: 'Show one key, and where it stands with limits and bans',
  parameters: { key: oneKey },
  role: 'read',
  run: ({ desks }, { key }) => desks().quotas.describe(key),
  text: (details, { clock }) => keyText(details, clock()),
})
