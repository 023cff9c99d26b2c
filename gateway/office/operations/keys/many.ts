import { counted } from '../../../../shared/commas.ts'
import { breathe } from '../../../../shared/breathe.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import type { Key } from '../../../front/keys/key.ts'
import { keyView } from '../../../front/keys/view.ts'
import { NotWrittenDown } from '../../../front/records/audit.ts'
import { firstNames } from '../../../front/records/audit-store.ts'
import { newKeyId } from '../../../front/keys/token.ts'
import { changedMembers } from '../../../front/records/changed-members.ts'
import { changesText } from '../changes-text.ts'
import type { Context } from '../context.ts'
import type { KeyEdit } from '../../../front/keys/key-desk.ts'
import { WrongInput } from '../operation.ts'
import { aligned } from '../table.ts'

/** The keys that an operation is about: one, or all of an account. */
export type Target = Readonly<{
  key?: Key | undefined
  account?: string | null | undefined
  dryRun?: boolean | undefined
}>

/** The number of keys from which on a command shows its progress. */
const shownFrom = 100

type Named = Pick<Key, 'id' | 'name'>

/** The outcome of a change of many keys. */
export type ManyEdited = Readonly<{
  account: string | undefined
  dryRun: boolean
  /** With the members that differ. */
  changed: readonly (Named & Readonly<{ before: object; after: object }>)[]
  skipped: readonly (Named & Readonly<{ why: string }>)[]
  /** The keys that could not be changed, or that were not reached. */
  left: readonly (Named & Readonly<{ why: string }>)[]
}>

/** The one key of a target; `undefined` if it is about many, or a dry run. Throws unless it is one of both. */
export function oneKeyOf({ key, account, dryRun = false }: Target): Key | undefined {
  const isMany = typeof account === 'string' && account !== ''
  if (!key && !isMany) throw new WrongInput('name a key, or an account to mean all of its keys')
  if (key && isMany) throw new WrongInput('name either a key or an account, not both')
  return dryRun ? undefined : key
}

/** Changes all keys of a target, one after the other: one act, in which each has its entry in the audit. */
export async function editMany(
  context: Context,
  { key, account, dryRun = false }: Target,
  edit: KeyEdit,
): Promise<ManyEdited> {
  const { keys: desk } = context.desks()
  const keys = key ? [key] : await desk.keysOf(account ?? '')
  if (keys.length === 0)
    throw new KeyMistake(`no key belongs to the account "${account}"`, 'not_found')
  requirePossible(keys, edit)
  const draw =
    dryRun || keys.length < shownFrom ? () => undefined : context.progress('keys', keys.length)
  const [changed, skipped, left]: [ManyEdited['changed'][number][], Left[], Left[]] = [[], [], []]
  let stop: string | undefined
  const ofAct = { id: newKeyId(), account: account ?? undefined }
  for (const [index, each] of keys.entries()) {
    const { id, name } = each
    let before = each
    // Others may have changed the key since it was listed.
    const change = (fresh: Key): Key => {
      before = fresh
      const why = key || fresh.account === account ? whyNot(fresh, edit, context) : hasLeft
      if (why !== undefined) throw new Stays(why)
      return edit.change(fresh)
    }
    try {
      if (stop !== undefined) left.push({ id, name, why: stop })
      else {
        const names = firstNames([...changed.slice(0, 3), each])
        const act = key ? undefined : { ...ofAct, keys: changed.length + 1, names }
        const { what } = edit
        const after = dryRun ? change(each) : await desk.edit(id, { what, change, act })
        changed.push({ id, name, ...difference(before, after, context) })
      }
    } catch (error) {
      if (error instanceof Stays) skipped.push({ id, name, why: error.message })
      else if (error instanceof KeyMistake) left.push({ id, name, why: error.message })
      else if (error instanceof NotWrittenDown) {
        changed.push({ id, name, ...difference(before, edit.change(before), context) })
        stop = `the change before it ${notWrittenDown}`
      } else {
        if (changed.length === 0) throw error
        stop = error instanceof Error ? error.message : String(error)
        left.push({ id, name, why: stop })
      }
    }
    draw(index + 1)
    // An embedded store answers at once, and a gateway serves meanwhile.
    await breathe()
  }
  return { account: account ?? undefined, dryRun, changed, skipped, left }
}

const notWrittenDown = 'was made, but could not be written to the audit'

const hasLeft = 'it has left the account'

/** The reason for which a key stays as it is. A change throws it, so that nothing is written. */
class Stays extends Error {}

type Left = ManyEdited['left'][number]

/** Throws if no key can be changed so, be it revoked or not: the mistake is in the change then. */
function requirePossible(keys: readonly Key[], { change }: KeyEdit): void {
  let mistake: unknown
  for (const key of keys) {
    try {
      change({ ...key, revokedAtMs: undefined })
      return
    } catch (error) {
      mistake ??= error
    }
  }
  throw mistake
}

/** The question before a change of many keys; none about one key, nor if nothing would change. */
export async function questionAboutMany(
  context: Context,
  target: Target,
  edit: KeyEdit,
  verb: string,
): Promise<string | undefined> {
  if (target.dryRun || oneKeyOf(target)) return undefined
  const { changed } = await editMany(context, { ...target, dryRun: true }, edit)
  if (changed.length === 0) return undefined
  return `${verb} ${counted(changed.length, 'key')} of the account ${target.account}?`
}

/** Why a key stays as it is; throws a `KeyMistake` if it can't be changed. */
function whyNot(key: Key, edit: KeyEdit, context: Context): string | undefined {
  if (key.revokedAtMs !== undefined) return 'it is revoked already'
  const { after } = difference(key, edit.change(key), context)
  return Object.keys(after).length > 0 ? undefined : 'it is so already'
}

/** The members that differ, without those that are missing. */
function difference(
  before: Key,
  after: Key,
  { clock }: Context,
): { before: object; after: object } {
  const views = [before, after].map((key) => keyView(key, clock()))
  const names = changedMembers(views[0], views[1])
  const [old = {}, now = {}] = views.map((view) =>
    Object.fromEntries(names.map((name) => [name, (Reflect.get(view, name) as unknown) ?? null])),
  )
  return { before: old, after: now }
}

/** The text for people. */
export function manyText({ dryRun, changed, skipped, left }: ManyEdited): string {
  const count = (keys: readonly unknown[], one: string, many: string): string =>
    `${counted(keys.length, 'key')} ${keys.length === 1 ? one : many}:`
  const why = ({ id, name, why }: Left): string[] => [id, name, why]
  const part = (head: string, rows: readonly string[][]): string[] =>
    rows.length > 0 ? [`${head}\n${aligned(rows)}`] : []
  return [
    ...part(
      dryRun
        ? count(changed, 'would change', 'would change')
        : count(changed, 'is changed', 'are changed'),
      changed.map(({ id, name, before, after }) => [id, name, changesText(before, after)]),
    ),
    ...part(count(skipped, 'stays as it is', 'stay as they are'), skipped.map(why)),
    ...part(
      dryRun
        ? count(left, 'can’t be changed', 'can’t be changed')
        : count(left, 'is left', 'are left'),
      left.map(why),
    ),
    ...(left.length > 0 && !dryRun
      ? ['Repeat the command to continue with those that are left.']
      : []),
  ].join('\n\n')
}
