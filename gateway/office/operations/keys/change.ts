import { operation, WrongInput } from '../operation.ts'
import { dryRun, oneOrMany } from '../parameters.ts'
import type { Context } from '../context.ts'
import type { KeyEdit, KeyDesk } from '../../../front/keys/key-desk.ts'
import type { Given } from '../parameter.ts'
import { questionAboutMany, type Target, oneKeyOf, editMany, manyText } from './many.ts'
import { keyChange, monthFrom, settingsFrom } from './settings.ts'
import type { Key } from '../../../front/keys/key.ts'
import { consequencesOf, sharing } from './consequences.ts'
import { expiryText, keyText } from './texts.ts'

/** The outcome for one key, or for all keys of an account. */
type Outcome = Awaited<ReturnType<typeof edit>>

/** Changes a key and the months of its quota, and looks at it before and after; or changes all keys of an account. */
async function edit(context: Context, target: Target, change: KeyEdit, monthFrom?: number) {
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
const editedOutput = {
  json: ({ one, many }: Outcome) => (one ? one.after : many),
  text: async ({ one, many }: Outcome, { desks, clock }: Context): Promise<string> => {
    if (many) return manyText(many)
    const { key, before, changed, after } = one
    const isOfQuota =
      changed.account !== key.account || before.standing.monthFrom !== after.standing.monthFrom
    const shared = isOfQuota ? await sharing(changed, desks().keys) : []
    const ends = changed.expiresAtMs === key.expiresAtMs ? [] : expiryText(changed)
    const consequences = [...shared, ...ends, ...consequencesOf(before, after, clock())]
    return keyText(after, clock(), consequences)
  },
  isRefused: ({ many }: Outcome) => many !== undefined && many.left.length > 0,
}

const parameters = {
  key: { isKey: true },
  ...keyChange,
  account: { ...keyChange.account, namesMany: true },
  monthFrom: { ...monthFrom, isOfOne: true },
  dryRun,
} as const

export const changeKey = operation({
  name: 'keys change',
  at: ['PATCH /admin/keys/{id}', 'PATCH /admin/keys'],
  summary: 'Change the given settings of a key, or of all keys of an account',
  details:
    'With KEY, --account gives the key another account. Without KEY, it names the account whose keys are changed.',
  parameters,
  changes: true,
  role: 'all',
  question: async (values, context) => {
    const { target, change } = changeFrom(values, context)
    return target.key ? undefined : questionAboutMany(context, target, change, 'Change')
  },
  run: (context, values) => {
    const { target, change } = changeFrom(values, context)
    return edit(context, target, change, values.monthFrom)
  },
  ...editedOutput,
})

/** The settings to change, and whose they are: those of one key, or of all keys of an account. */
function changeFrom(
  { key, dryRun, account, monthFrom, ...others }: Given<typeof parameters>,
  { desks, clock }: Context,
): { target: Target; change: KeyEdit } {
  const settings = { ...others, account: key ? account : undefined }
  const changes = settingsFrom(settings, clock())
  if (monthFrom !== undefined && (!key || dryRun)) {
    throw new WrongInput('the months belong to one quota: name a KEY, and not with --dry-run')
  }
  if (Object.keys(changes).length === 0 && monthFrom === undefined) {
    throw new WrongInput('no change was given; name at least one setting')
  }
  const target = key ? { key, dryRun } : { account, dryRun }
  return { target, change: desks().keys.changing(changes) }
}

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
