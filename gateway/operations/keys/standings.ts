import type { KeyInUse } from '../../keys/in-use.ts'
import { latestDays, usage } from '../../records/usage.ts'
import type { Context } from '../context.ts'
import type { KeyStanding } from '../key-standing.ts'

/** How keys stand with their limits, and how often they were refused today, by their ids. */
export type Standings = ReadonlyMap<string, { standing: KeyStanding; refusedToday: number }>

/** Asks the store for all keys of a page at once. */
export async function standingsOf(
  keys: readonly KeyInUse[],
  { stores, desks, clock, flush }: Context,
): Promise<Standings> {
  await flush()
  const { quotas } = desks()
  const today = latestDays(1, clock())
  const entries = keys.map(async ({ key }) => {
    const [standing, days] = await Promise.all([
      quotas.standing(key),
      usage(stores(), { ...today, key: key.id }),
    ])
    const refused = days.flatMap((day) => Object.values(day.refused))
    return [key.id, { standing, refusedToday: refused.reduce((a, b) => a + b, 0) }] as const
  })
  return new Map(await Promise.all(entries))
}

/** The use of a window, such as `23/60`. */
export function windowText(window: KeyStanding['minute'] | undefined): string {
  return window ? `${window.used}/${window.limit}` : ''
}
