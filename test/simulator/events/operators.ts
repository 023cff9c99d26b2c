import { limitName, windowNames } from '../../../shared/windows.ts'
import { setEnd } from '../../../gateway/front/limits/ban-ends.ts'
import { changeTerms, type Customer } from '../customers.ts'
import type { Draws } from '../draws.ts'
import { edit } from '../edit.ts'
import type { Edit } from '../messages.ts'
import type { World } from '../world.ts'

/** An operator changes a quota, or the limits of a customer. */
export function operate(world: World): void {
  const { draws, redis, door } = world
  const customer = draws.oneOf(world.customers)
  const { quota } = customer
  if (draws.onceIn(3)) {
    world.trace.note(`${redis.nowMs} other limits of ${quota}`)
    world.bookOf(quota).roomAtMs = redis.nowMs
    return changeTerms(customer, draws)
  }
  if (door.state !== 'open') return
  const key = draws.oneOf(customer.keys)
  const kind = draws.oneOf(['reset', 'month', 'grant', 'grant', 'ban', 'lift'] as const)
  world.trace.note(`${redis.nowMs} ${kind} of ${quota} ${key}`)
  if (kind === 'reset') return edit(world, { kind, quota })
  if (kind === 'lift') return edit(world, { kind, quota, key })
  if (kind === 'month') return edit(world, { kind, quota, monthFrom: draws.between(1, 28) })
  if (kind === 'ban') {
    const untilMs = setEnd(redis.nowMs + draws.between(500, 20_000))
    return edit(world, { kind, quota, key, untilMs })
  }
  // Brief windows are granted nothing.
  const window = draws.oneOf(windowNames.slice(1))
  edit(world, { kind, quota, grant: { [limitName(window)]: draws.between(1, 8), by: 'operator' } })
}

/** An operator adds points to those that a customer has bought, or takes some. */
export function topUp(world: World): void {
  const { draws, door, trace, redis } = world
  const customer = draws.oneOf(world.customers)
  if (!customer.prepaid || door.state !== 'open') return
  trace.note(`${redis.nowMs} top-up of ${customer.quota}`)
  edit(world, drawTopUp(customer, draws))
}

/** A top-up, or a correction; now and then one that was sent before, of which some have other points now. */
function drawTopUp({ quota, topUps }: Customer, draws: Draws): Edit {
  const before = topUps.length > 0 && draws.onceIn(3) ? draws.oneOf(topUps) : undefined
  const drawn = draws.onceIn(5) ? -draws.between(1, 20) : draws.between(5, 60)
  const [id, points] = before ?? ([`t${topUps.length}`, drawn] as const)
  if (!before) topUps.push([id, points])
  const given = before && draws.onceIn(4) ? drawn : points
  return { kind: 'top-up', quota, topUp: { id, points: given, by: 'operator' } }
}
