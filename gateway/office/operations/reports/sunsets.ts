import { announcer, type Announced } from '../../../front/config/deprecations.ts'
import type { DeprecatedCalls, OwnSunset } from '../../../front/counts/deprecated-calls.ts'
import { dayMs } from '../../../../shared/windows.ts'
import type { Context } from '../context.ts'

/** A sunset is near this long before it, and a key still calls if it did within this time. */
const nearMs = 30 * dayMs

type Called = Pick<DeprecatedCalls, 'key' | 'operation' | 'lastMs'>

/** Gives the function that tells a calling key's own sunset of an operation. */
export async function ownSunsets(context: Context): Promise<(called: Called) => OwnSunset> {
  const { deprecations } = context.config
  const nowMs = context.clock()
  const announcers = new Map(deprecations.map((each) => [each.operation, announcer(each)] as const))
  const accountByKey = await accountsOfExtensions(context)
  return ({ key, operation, lastMs }) => {
    const announced = announcers.get(operation)?.({ id: key, account: accountByKey.get(key) })
    const { sunsetMs, extension } = announced ?? {}
    const stillCalls = lastMs >= nowMs - nearMs
    return {
      sunsetMs,
      extension,
      needsExtension: stillCalls && announced !== undefined && endsSoon(announced, nowMs),
    }
  }
}

function endsSoon({ deprecation, sunsetMs, extension }: Announced, nowMs: number): boolean {
  if (extension || deprecation.afterSunset !== 'gone') return false
  return sunsetMs !== undefined && sunsetMs <= nowMs + nearMs
}

/** The accounts that have an extension, by key. Only their keys are looked up. */
async function accountsOfExtensions({
  config,
  desks,
}: Context): Promise<ReadonlyMap<string, string>> {
  const accounts = config.deprecations.flatMap(({ extensions }) =>
    extensions.flatMap(({ account }) => account ?? []),
  )
  const accountByKey = new Map<string, string>()
  for (const account of new Set(accounts)) {
    for (const { id } of await desks().keys.keysOf(account)) accountByKey.set(id, account)
  }
  return accountByKey
}
