import type { Decision } from '../../gateway/front/limits/step.ts'
import type { PlaceReport } from '../../gateway/front/limits/store.ts'
import type { Answer, Message } from './messages.ts'
import type { World } from './world.ts'

/** Has the store answer a gateway, and writes down in the books what it has counted. */
export function answerOf(world: World, message: Message, from: string): Answer {
  const { redis } = world
  const { nowMs } = redis
  world.questions++
  const gateway = world.gateways.find(({ name }) => name === from)
  // What left before writes were lost doesn't tell of the places that were.
  const isNews = (world.askedAtMs.get(message) ?? 0) > world.lostAtMs
  if (message.kind === 'strangers') gateway?.strangerBook.hear(message.points)
  if (message.kind === 'places') {
    for (const { quota, told } of isNews ? message.reports : []) {
      gateway?.places.hear(quota, told.held.keys())
    }
    const answer = redis.answer(message)
    world.happened?.({ what: 'message', message, answer, nowMs })
    world.trace.note(`${nowMs} ${from} tells places: ${textOfReports(message.reports)}`)
    return answer
  }
  if (message.kind !== 'decide' && message.kind !== 'adjust') return redis.answer(message)
  const book = world.bookOf(message.quota)
  const generation = redis.quotas.get(message.quota)?.state.generation ?? 0
  const answer = redis.answer(message)
  world.happened?.({ what: 'message', message, answer, nowMs })
  const stored = redis.quotas.get(message.quota)
  if (!stored) return answer
  // A gateway has brought a reset back that the store had lost.
  const isTaken = stored.state.generation !== generation
  if (isTaken) book.blur(stored.state, nowMs)
  if (message.kind === 'adjust') {
    if (book.adjust(message, stored.state, nowMs) === 'first')
      gateway?.untold.heardAdjustment(message)
    world.trace.note(`${nowMs} ${from} adjusts ${message.quota} by ${message.adjustment.points}`)
  } else {
    const { ask } = message
    if (ask.place && isNews) gateway?.places.hear(message.quota, ask.place.held.keys())
    if (ask.owed && book.report(ask.owed, nowMs) === 'first') {
      gateway?.untold.heardReport(message.quota, ask.owed)
    }
    const decision = answer as Decision
    world.look({ what: 'decided', book, ask, decision, nowMs })
    if (decision.verdict === 'admitted' && decision.cost > 0) book.admit(decision, ask)
    if (decision.bans) book.bans.earn(ask.key, decision.bannedUntilMs)
    const { verdict, used } = decision
    world.trace.note(
      `${nowMs} ${from} asks ${message.quota} ${ask.cost}: ${verdict} ${used.join()}`,
    )
  }
  if (isTaken) book.blur(stored.state, nowMs)
  world.look({ what: 'stored', book, stored, nowMs, gateways: world.gateways })
  return answer
}

function textOfReports(reports: readonly PlaceReport[]): string {
  return reports
    .map(({ quota, told }) => `${quota} ${told.number} ${[...told.held].join(' ')}`)
    .join('; ')
}
