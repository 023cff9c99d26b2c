import { withCommas } from '../../../../shared/commas.ts'
import { countsOn, latestDays } from '../../../front/counts/usage.ts'
import type { KeyInUse } from '../../../front/keys/last-use-store.ts'
import { StoreDamaged } from '../../../../shared/store-errors.ts'
import type { Context } from '../context.ts'
import type { KeyStanding, UsedWindow } from '../key-standing.ts'

/** How keys stand with their limits, and their requests of today, by their ids. */
export type Standings = ReadonlyMap<
  string,
  { standing: KeyStanding; admittedToday: number; refusedToday: number }
>

/** Asks the stores for all keys of a page together. A key whose counters are damaged has no standing. */
export async function standingsOf(
  keys: readonly KeyInUse[],
  { stores, desks, clock, flush }: Context,
): Promise<Standings> {
  await flush()
  const { quotas } = desks()
  const ids = keys.map(({ key }) => key.id)
  const [standings, counts] = await Promise.all([
    Promise.all(keys.map(({ key }) => quotas.standing(key).catch(absentIfDamaged))),
    countsOn(stores().tallies, latestDays(1, clock()).toDay, ids),
  ])
  return new Map(
    standings.flatMap((standing, i) => {
      const id = ids[i] ?? ''
      const { admitted = 0, refused = 0 } = counts.get(id) ?? {}
      return standing
        ? [[id, { standing, admittedToday: admitted, refusedToday: refused }] as const]
        : []
    }),
  )
}

function absentIfDamaged(error: unknown): undefined {
  if (!(error instanceof StoreDamaged)) throw error
}

/** The use of a window, such as `23/60`. */
export function windowText(window: UsedWindow | null | undefined): string {
  if (!window) return ''
  return `${withCommas(window.used)}/${window.limit === null ? 'unlimited' : withCommas(window.limit)}`
}
