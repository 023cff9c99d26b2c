import { operation, WrongInput } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'
import { keyChange, settingsFrom } from './settings.ts'

export const changeKey = operation({
  name: 'keys change',
  at: ['PATCH /admin/keys/{id}'],
  summary: 'Change the given settings of a key, and no others',
  parameters: { key: oneKey, ...keyChange },
  changes: true,
  role: 'all',
  run: (context, { key, ...given }) => {
    const changes = settingsFrom(given)
    if (Object.keys(changes).length === 0)
      throw new WrongInput('no change was given; name at least one setting')
    return edit(context, key, () => context.desks().keys.change(key.id, changes))
  },
  ...editedOutput,
})
