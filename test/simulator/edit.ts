import type { Edit } from './messages.ts'
import { tellBan, tellLift } from './publish.ts'
import type { World } from './world.ts'

/** Has an operator change a quota, notes it in its book, and tells the gateways. */
export function edit(world: World, edit: Edit): void {
  const { redis } = world
  const { nowMs } = redis
  const outcome = redis.edit(edit)
  world.happened?.({ what: 'edit', edit, outcome, nowMs })
  const book = world.bookOf(edit.quota)
  const stored = redis.quotas.get(edit.quota)
  const isMade = typeof outcome === 'string' ? outcome.startsWith('done') : outcome
  if (!stored || !isMade) return
  if (edit.kind === 'reset') book.reset(stored.state, nowMs)
  else if (edit.kind === 'month') book.setMonthFrom(edit.monthFrom, nowMs)
  else if (edit.kind === 'grant') book.grant(edit.grant, stored.state, nowMs)
  else if (edit.kind === 'top-up') book.topUp(edit.topUp, nowMs)
  else if (edit.kind === 'ban') book.bans.set(edit.key, edit.untilMs)
  else book.bans.lift(edit.key, nowMs)
  world.look({ what: 'stored', book, stored, nowMs })
  tellLift(world)
  if (edit.kind === 'ban') tellBan(world, edit)
}
