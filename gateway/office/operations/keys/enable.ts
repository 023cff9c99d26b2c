import { operation } from '../operation.ts'
import { oneOrMany } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'
import { questionAboutMany } from './many.ts'

export const enableKey = operation({
  name: 'keys enable',
  at: ['POST /admin/keys/{id}/enable', 'POST /admin/keys/enable'],
  summary: 'Enable a disabled key, or all keys of an account',
  parameters: oneOrMany,
  changes: true,
  role: 'all',
  question: (target, context) =>
    questionAboutMany(context, target, context.desks().keys.disabling(false), 'Enable'),
  run: (context, target) => edit(context, target, context.desks().keys.disabling(false)),
  ...editedOutput,
})
