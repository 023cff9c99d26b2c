import { replaceFault } from '../../config/replace-file.ts'
import type { SeenMember } from '../../../front/fleet/store.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import type { GatewayContext } from '../context.ts'

/** Whether operators may read and save the file here, and why. */
export type Saving = Readonly<{ on: boolean; why: string }>

type Configured = Pick<GatewayContext, 'config' | 'reloader'>

/** Whether operators may read and save the file here, and why. */
export async function savingOf({ config, reloader }: Configured): Promise<Saving> {
  const { save } = config.admin
  const { store } = config
  const is = `admin.save is ${save ? 'on' : 'off'}`
  if (await reloader.desk('saysSave')) return { on: save, why: `${is}, because the file says so` }
  const usual = save
    ? 'the store is embedded and only this machine reaches admin.host'
    : store.redis
      ? 'the store is Redis'
      : 'other machines reach admin.host'
  return { on: save, why: `${is} by default here, because ${usual}` }
}

/** Refuses to read or save the file where that is off. */
export async function requireSaving(context: Configured): Promise<void> {
  if (context.config.admin.save) return
  throw new KeyMistake(howToSave(await savingOf(context)), 'forbidden')
}

/** Why nobody may save the file here, and how to change that. */
export function howToSave({ why }: Saving): string {
  return `${why}: write admin: { save: true } into the file by hand and restart the gateway`
}

/** Why the file can't be saved here now; `undefined` if it can. */
export async function saveFault(
  context: Pick<GatewayContext, 'config' | 'reloader' | 'gateway' | 'stores'>,
): Promise<string | undefined> {
  return (await replaceFault(context.reloader.state.file)) ?? (await companyFault(context))
}

/**
 * Why others must get the file, too: gateways of the same store each have their own copy, or the same one, which
 * nobody here can tell. The workers of this gateway share its file.
 */
async function companyFault({
  config,
  gateway,
  stores,
}: Pick<GatewayContext, 'config' | 'gateway' | 'stores'>): Promise<string | undefined> {
  const own = gateway.front.self.memberOf('')
  try {
    const { members, silent } = await stores().fleet.list()
    // Apps with the plugin have configurations of their own.
    const gateways = members.filter((each) => each.config !== undefined && each.id !== own.id)
    const workers = gateways.filter((each) => isFellow(each, own))
    const others = gateways.filter((each) => !workers.includes(each))
    // Workers of another gateway on this machine can't be told from ours, but there are more than ours are.
    const strange = workers.length < config.workers ? others : gateways
    if (strange.length === 0 && silent === 0) return undefined
    const names = strange.map(({ name }) => name).sort()
    if (silent > 0) names.push(`${silent} of another version`)
    return `other gateways of this store must get the file too (${names.join(', ')}): give it to all of them the way it came there`
  } catch {
    return 'the store is out of reach, so nobody can tell whether other gateways must get the file too'
  }
}

/** Whether a member is a worker of the same gateway, as far as can be told. */
function isFellow(member: SeenMember, own: { worker?: number | undefined; host: string }): boolean {
  return own.worker !== undefined && member.worker !== undefined && member.host === own.host
}
