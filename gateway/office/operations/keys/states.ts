import type { Key } from '../../../front/keys/key.ts'
import type { KeyDesk, KeyEdit } from '../../../front/keys/key-desk.ts'
import { operation } from '../operation.ts'
import { oneOrMany } from '../parameters.ts'
import { edit, editedOutput } from './edited.ts'
import { oneKeyOf, questionAboutMany } from './many.ts'

export const revokeKey = stateChange({
  verb: 'revoke',
  summary: 'Revoke a key, or all keys of an account, for good; asks first',
  question: 'Revoke for good',
  questionAboutOne: ({ id, name, plan, revokedAtMs }) =>
    revokedAtMs === undefined
      ? `Revoke the key ${id} (${name}, plan ${plan}) for good?`
      : undefined,
  change: (keys) => keys.revoking(),
})

export const disableKey = stateChange({
  verb: 'disable',
  summary: 'Refuse a key, or all keys of an account, until enabled again',
  question: 'Disable',
  change: (keys) => keys.disabling(true),
})

export const enableKey = stateChange({
  verb: 'enable',
  summary: 'Enable a disabled key, or all keys of an account',
  question: 'Enable',
  change: (keys) => keys.disabling(false),
})

type StateChange = Readonly<{
  verb: 'disable' | 'enable' | 'revoke'
  summary: string
  /** The beginning of the question about many keys. */
  question: string
  /** The question about one key, if there is any. */
  questionAboutOne?: (key: Key) => string | undefined
  change: (keys: KeyDesk) => KeyEdit
}>

/** Gives a key, or all keys of an account, another state. */
function stateChange({ verb, summary, question, questionAboutOne, change }: StateChange) {
  return operation({
    name: `keys ${verb}`,
    at: [`POST /admin/keys/{id}/${verb}`, `POST /admin/keys/${verb}`],
    summary,
    parameters: oneOrMany,
    changes: true,
    role: 'all',
    question: async (target, context) => {
      const key = oneKeyOf(target)
      if (key) return questionAboutOne?.(key)
      return questionAboutMany(context, target, change(context.desks().keys), question)
    },
    run: (context, target) => edit(context, target, change(context.desks().keys)),
    ...editedOutput,
  })
}
