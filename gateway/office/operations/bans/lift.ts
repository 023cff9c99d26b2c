import { printable } from '../../../../shared/printable.ts'
import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'

export const liftBan = operation({
  name: 'bans lift',
  at: ['DELETE /admin/bans/{id}'],
  isSilent: true,
  summary: 'End a ban, on every gateway within a second',
  parameters: { key: oneKey },
  changes: true,
  role: 'support',
  run: async ({ desks }, { key }) => {
    await desks().quotas.lift(key.id)
    return key
  },
  json: ({ id }) => ({ id, lifted: true }),
  text: ({ id, name }) => `The ban of ${id} (${printable(name)}) is lifted.`,
})
