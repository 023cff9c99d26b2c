import { operation } from '../operation.ts'
import { oneOrMany } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'
import { oneKeyOf, questionAboutMany } from './many.ts'

export const revokeKey = operation({
  name: 'keys revoke',
  at: ['POST /admin/keys/{id}/revoke', 'POST /admin/keys/revoke'],
  summary: 'Revoke a key, or all keys of an account, for good; asks first',
  parameters: oneOrMany,
  changes: true,
  role: 'all',
  question: async (target, context) => {
    const key = oneKeyOf(target)
    if (!key)
      return questionAboutMany(context, target, context.desks().keys.revoking(), 'Revoke for good')
    const { id, name, plan, revokedAtMs } = key
    if (revokedAtMs !== undefined) return undefined
    return `Revoke the key ${id} (${name}, plan ${plan}) for good?`
  },
  run: (context, target) => edit(context, target, context.desks().keys.revoking()),
  ...editedOutput,
})
