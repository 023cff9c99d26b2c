import type { Key } from '../../../front/keys/key.ts'
import type { KeyDetails } from '../quota-desk.ts'
import type { Context } from '../context.ts'
import type { KeyEdit } from '../../../front/keys/key-desk.ts'
import { consequencesOf, sharing } from './consequences.ts'
import { editMany, manyText, oneKeyOf, type ManyEdited, type Target } from './many.ts'
import { expiryText, keyText } from './texts.ts'

/** A key before and after a change. */
export type Edited = Readonly<{ key: Key; before: KeyDetails; changed: Key; after: KeyDetails }>

/** The outcome for one key, or for all keys of an account. */
type Outcome = Readonly<{ one: Edited } | { many: ManyEdited }>

/** Changes a key and the months of its quota, and looks at it before and after; or changes all keys of an account. */
export async function edit(
  context: Context,
  target: Target,
  change: KeyEdit,
  monthFrom?: number,
): Promise<Outcome> {
  const key = oneKeyOf(target)
  if (!key) return { many: await editMany(context, target, change) }
  const { keys, quotas } = context.desks()
  const before = await quotas.describe(key)
  const changed = await keys.edit(key.id, change)
  // After the change: it may have given the key the quota of another account.
  if (monthFrom !== undefined) await quotas.setMonthFrom(key.id, monthFrom)
  return { one: { key, before, changed, after: await quotas.describe(changed) } }
}

/** The key as it is now, and the consequences of its change; or the changes of many. */
export const editedOutput = {
  json: (outcome: Outcome) => ('one' in outcome ? outcome.one.after : outcome.many),
  text: async (outcome: Outcome, { desks, clock }: Context): Promise<string> => {
    if ('many' in outcome) return manyText(outcome.many)
    const { key, before, changed, after } = outcome.one
    const isOfQuota =
      changed.account !== key.account || before.standing.monthFrom !== after.standing.monthFrom
    const shared = isOfQuota ? await sharing(changed, desks().keys) : []
    const ends = changed.expiresAtMs === key.expiresAtMs ? [] : expiryText(changed)
    const consequences = [...shared, ...ends, ...consequencesOf(before, after, clock())]
    return keyText(after, clock(), consequences)
  },
  isRefused: (outcome: Outcome) => 'many' in outcome && outcome.many.left.length > 0,
}
