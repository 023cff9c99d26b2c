import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'

export const disableKey = operation({
  name: 'keys disable',
  at: ['POST /admin/keys/{id}/disable'],
  summary: 'Refuse a key until it is enabled again',
  parameters: { key: oneKey },
  changes: true,
  role: 'all',
  run: (context, { key }) =>
    edit(context, key, () => context.desks().keys.setDisabled(key.id, true)),
  ...editedOutput,
})
