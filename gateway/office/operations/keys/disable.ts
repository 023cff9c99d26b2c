import { operation } from '../operation.ts'
import { oneOrMany } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'
import { questionAboutMany } from './many.ts'

export const disableKey = operation({
  name: 'keys disable',
  at: ['POST /admin/keys/{id}/disable', 'POST /admin/keys/disable'],
  summary: 'Refuse a key, or all keys of an account, until enabled again',
  parameters: oneOrMany,
  changes: true,
  role: 'all',
  question: (target, context) =>
    questionAboutMany(context, target, context.desks().keys.disabling(true), 'Disable'),
  run: (context, target) => edit(context, target, context.desks().keys.disabling(true)),
  ...editedOutput,
})
