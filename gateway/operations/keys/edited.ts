import type { Key } from '../../keys/key.ts'
import type { KeyDetails } from '../quota-desk.ts'
import type { Context } from '../context.ts'
import { consequencesOf, sharing } from './consequences.ts'
import { keyText } from './texts.ts'

/** A key before and after a change. */
export type Edited = Readonly<{ key: Key; before: KeyDetails; changed: Key; after: KeyDetails }>

/** Changes a key, and looks at it before and after. */
export async function edit(
  { desks }: Context,
  key: Key,
  change: () => Promise<Key>,
): Promise<Edited> {
  const { quotas } = desks()
  const before = await quotas.describe(key)
  const changed = await change()
  return { key, before, changed, after: await quotas.describe(changed) }
}

/** The key as it is now, and the consequences of its change. */
export const editedOutput = {
  json: ({ after }: Edited) => after,
  text: async (edited: Edited, { desks, clock }: Context): Promise<string> => {
    const { key, before, changed, after } = edited
    const shared = changed.account === key.account ? [] : await sharing(changed, desks().keys)
    return keyText(after, clock(), [...shared, ...consequencesOf(before, after)])
  },
}
