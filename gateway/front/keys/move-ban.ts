import { noLimits } from '../limits/limits.ts'
import type { QuotaStore } from '../limits/store.ts'

/** Has a running ban go with a key that moves to another quota. */
export async function moveBan(
  store: Pick<QuotaStore, 'decide' | 'ban' | 'lift'>,
  id: string,
  before: string,
  after: string,
): Promise<void> {
  if (await copyBan(store, id, before, after)) await store.lift(before, id)
}

/** Has a running ban of a key in one quota hold in another one, too; `false` without a ban. */
export async function copyBan(
  store: Pick<QuotaStore, 'decide' | 'ban'>,
  id: string,
  from: string,
  to: string,
): Promise<boolean> {
  if (from === to) return false
  const look = { key: id, cost: 0, limits: noLimits }
  const { bannedUntilMs } = await store.decide(from, look)
  if (bannedUntilMs === 0) return false
  const other = await store.decide(to, look)
  if (other.bannedUntilMs < bannedUntilMs) await store.ban(to, id, bannedUntilMs)
  return true
}
