import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'

export const enableKey = operation({
  name: 'keys enable',
  at: ['POST /admin/keys/{id}/enable'],
  summary: 'Let a disabled key in again',
  parameters: { key: oneKey },
  changes: true,
  role: 'all',
  run: (context, { key }) =>
    edit(context, key, () => context.desks().keys.setDisabled(key.id, false)),
  ...editedOutput,
})
