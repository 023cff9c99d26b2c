import type { QuotaStore } from '../limits/store.ts'

/** Has a running ban go with a key that moves to another quota. */
export async function moveBan(
  store: Pick<QuotaStore, 'bans' | 'ban' | 'lift'>,
  id: string,
  before: string,
  after: string,
): Promise<void> {
  if (after === before) return
  const bans = await store.bans()
  const ban = bans.find(({ key, quota }) => key === id && quota === before)
  if (!ban) return
  await store.ban(after, id, ban.untilMs)
  await store.lift(before, id)
}
