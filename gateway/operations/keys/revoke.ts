import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'

export const revokeKey = operation({
  name: 'keys revoke',
  at: ['POST /admin/keys/{id}/revoke'],
  summary: 'End a key for good; on a terminal it asks first',
  parameters: { key: oneKey },
  changes: true,
  role: 'all',
  question: ({ key: { id, name, plan, revokedAtMs } }) =>
    revokedAtMs === undefined ? `End the key ${id} (${name}, plan ${plan}) for good?` : undefined,
  run: (context, { key }) => edit(context, key, () => context.desks().keys.revoke(key.id)),
  ...editedOutput,
})
