import type { Counters } from '../../gateway/front/limits/counters.ts'
import type { Decision } from '../../gateway/front/limits/step.ts'
import type { SimulatedGateway } from './gateway/gateway.ts'
import type { Answer, Message } from './messages.ts'
import { tellBan } from './publish.ts'
import type { World } from './world.ts'

/** Notes what a gateway learns from an answer that is in time. */
export function takeAnswer(
  world: World,
  gateway: SimulatedGateway,
  message: Message,
  answer: Answer,
): void {
  if (!gateway.isAlive) return
  if (message.kind === 'strangers') {
    gateway.strangerBook.answered()
    const sums = answer as readonly number[]
    const moment = { what: 'learnt', gateway, points: message.points, sums } as const
    world.timeline.later(() => world.look(moment), 0)
  }
  if (message.kind !== 'decide' && message.kind !== 'adjust') return
  const { quota } = message
  const askedAtMs = world.askedAtMs.get(message) ?? 0
  const { lostAtMs, timeline } = world
  const times = { askedAtMs, nowMs: timeline.nowMs, lostAtMs }
  if (message.kind === 'adjust') {
    // It says something new only to a gateway that had asked for the quota before.
    if (message.admission.seen) gateway.book.learn(quota, answer as Counters, times)
    return
  }
  const { seen, bans, bannedUntilMs, purse } = answer as Decision
  if (purse) gateway.book.learnPurse(quota, purse)
  gateway.book.learn(quota, seen, times)
  const { key } = message.ask
  // Reports tell a gateway no time.
  if (key !== '') gateway.lagMs = timeline.nowMs - askedAtMs
  if (bans) tellBan(world, { quota, key, untilMs: bannedUntilMs })
}
