import { operation } from '../operation.ts'
import { oneOrMany } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'
import { questionAboutMany } from './many.ts'

export const enableKey = operation({
  name: 'keys enable',
  at: ['POST /admin/keys/{id}/enable', 'POST /admin/keys/enable'],
  summary: 'Let a disabled key, or all of an account, in again',
  parameters: oneOrMany,
  changes: true,
  role: 'all',
  question: (target, context) =>
    questionAboutMany(context, target, context.desks().keys.disabling(false), 'Enable'),
  run: (context, target) => edit(context, target, context.desks().keys.disabling(false)),
  ...editedOutput,
})
