import { operation, WrongInput } from '../operation.ts'
import { dryRun } from '../parameters.ts'
import type { Context } from '../context.ts'
import type { KeyEdit } from '../../../front/keys/key-desk.ts'
import type { Given } from '../parameter.ts'
import { edit, editedOutput } from './edited.ts'
import { questionAboutMany, type Target } from './many.ts'
import { keyChange, monthFrom, settingsFrom } from './settings.ts'

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
