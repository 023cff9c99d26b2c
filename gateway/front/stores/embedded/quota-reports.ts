import { breathe } from '../../../../shared/breathe.ts'
import { usedOn, type QuotaPoints } from '../../limits/past-points.ts'
import type { QuotaState } from '../../limits/quota-state.ts'
import type { Ban } from '../../limits/store.ts'
import { answerOf } from './answer.ts'
import type { CachedQuotas } from './cached-quotas.ts'
import { stateFrom, type QuotaFile } from './quota-file.ts'

/** Quotas in memory whose points are told in one turn of the loop. */
const pointsAtOnce = 2_000

/** The table of quotas; a gateway serves while it is read bit by bit: 100,000 quotas at once took 700 ms. */
export type Table = Readonly<{ file: QuotaFile; isOpen: () => boolean }>

/**
 * The bans that run. `newer` has the quotas that are newer than the table, and `isInMemory` says of which others memory
 * is right.
 */
export async function bansIn(
  { file, isOpen }: Table,
  newer: ReadonlyMap<string, QuotaState>,
  isInMemory: (quota: string) => boolean,
  nowMs: number,
): Promise<readonly Ban[]> {
  const bans = bansOf(newer, nowMs)
  for (let after: string | undefined = ''; after !== undefined && isOpen();) {
    const from: string = after
    const { entries, end } = answerOf(() => file.conducts(from))
    const others = entries.filter(([quota]) => !newer.has(quota) && !isInMemory(quota))
    bans.push(...bansOf(others, nowMs))
    after = end
    await breathe()
  }
  return bans
}

/** First what memory has, then the rows of the table; of a quota in both, memory is right. */
export async function* pointsIn(
  { file, isOpen }: Table,
  cache: CachedQuotas,
  day: number,
): AsyncGenerator<readonly QuotaPoints[]> {
  const all = [...cache.all]
  for (let start = 0; start < all.length; start += pointsAtOnce) {
    yield withPointsOn(day, all.slice(start, start + pointsAtOnce))
    await breathe()
  }
  for (let after: string | undefined = ''; after !== undefined && isOpen();) {
    const from: string = after
    const rows = answerOf(() => file.page(from))
    yield withPointsOn(
      day,
      rows.flatMap(({ quota, state: text }) => {
        const state = cache.inMemory(quota) ?? stateFrom(text)
        return state ? [{ ...state, quota }] : []
      }),
    )
    after = rows.at(-1)?.quota
    await breathe()
  }
}

function withPointsOn(
  day: number,
  states: readonly (QuotaState & Readonly<{ quota: string }>)[],
): QuotaPoints[] {
  return states.flatMap((state) => usedOn(state.quota, state, day))
}

/** The bans of quotas that run at a time. */
export function bansOf(entries: Iterable<readonly [string, QuotaState]>, nowMs: number): Ban[] {
  const bans: Ban[] = []
  for (const [quota, { conducts }] of entries) {
    for (const [key, { bannedUntilMs }] of conducts ?? []) {
      if (bannedUntilMs > nowMs) bans.push({ key, quota, untilMs: bannedUntilMs })
    }
  }
  return bans
}
