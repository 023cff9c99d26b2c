import { unanswered, type Adjustment } from '../../../gateway/front/limits/counters.ts'
import type { Place } from '../../../gateway/front/limits/place.ts'
import { partsWithPlaces } from '../../../gateway/front/limits/places.ts'
import type { Decision } from '../../../gateway/front/limits/step.ts'
import { drawTerms, type Customer } from '../customers.ts'
import type { SimulatedGateway } from '../gateway/gateway.ts'
import type { Request } from '../moment.ts'
import type { World } from '../world.ts'

/** A request of a customer, or a few at once. */
export function request(world: World): void {
  const { draws, gateways } = world
  if (gateways.length === 0) return
  const customer = draws.oneOf(world.customers)
  const times = draws.onceIn(10) ? draws.between(2, 12) : 1
  const [first, isOfOne] = [draws.oneOf(gateways), draws.onceIn(2)]
  for (let i = 0; i < times; i++) send(world, isOfOne ? first : draws.oneOf(gateways), customer)
}

/** Every gateway looks at the limits of the customers who buy points in advance: that brings back what the store has lost. */
export function lookAtPurses(world: World): void {
  for (const customer of world.customers) {
    if (!customer.prepaid) continue
    for (const gateway of world.gateways) lookAt(world, gateway, customer)
  }
}

/** A look at the limits of a customer, which counts nothing. */
export function look(world: World): void {
  const { draws, gateways } = world
  if (gateways.length === 0) return
  const customer = draws.oneOf(world.customers)
  lookAt(world, draws.oneOf(gateways), customer)
}

function lookAt(world: World, gateway: SimulatedGateway, customer: Customer): void {
  const { draws } = world
  const id = draws.oneOf(customer.keys)
  const asker = { id, quota: customer.quota }
  const terms = drawTerms(customer, id, draws)
  serve(world, gateway, { asker, terms: { ...terms, least: undefined }, cost: 0 })
}

function send(world: World, gateway: SimulatedGateway, customer: Customer): void {
  const { draws } = world
  const id = draws.oneOf(customer.keys)
  const cost = draws.weighted([
    [6, 1],
    [2, draws.between(2, 5)],
    [1, 0],
  ])
  const terms = drawTerms(customer, id, draws)
  const asker = { id, quota: customer.quota }
  serve(world, gateway, { asker, terms, cost }, (decision) => {
    const adjustment = adjustmentOf(world, customer, decision)
    if (!adjustment) return
    const afterMs = draws.weighted([
      [5, draws.below(40)],
      [3, draws.below(3_000)],
      [1, draws.below(90_000)],
    ])
    world.timeline.later(() => end(gateway, asker.quota, decision, adjustment), afterMs)
  })
}

function serve(
  world: World,
  gateway: SimulatedGateway,
  request: Request,
  admitted: (decision: Decision) => void = () => undefined,
): void {
  const { asker, terms, cost } = request
  const askedAtMs = world.timeline.nowMs
  const decided = (decision: Decision): void => {
    if (!gateway.isAlive) return
    const { verdict, decidedBy, isUncounted = false } = decision
    world.trace.note(
      `${world.timeline.nowMs} ${gateway.name} answers ${asker.id} ${cost}: ${verdict} by ${decidedBy}`,
    )
    const book = world.bookOf(asker.quota)
    if (decidedBy === 'alone' && decision.bans) book.bans.earn(asker.id, decision.bannedUntilMs)
    world.look({ what: 'served', world, gateway, book, request, decision })
    if (verdict !== 'admitted') return
    // A store that has lost writes since it was asked may have lost the place, too.
    const isAlone = decidedBy === 'alone' || askedAtMs <= world.lostAtMs
    if (decision.place) underWay(world, gateway, request, decision.place, isAlone)
    if (decidedBy === 'alone' && cost > 0 && !isUncounted)
      gateway.untold.owe(asker.quota, decision, cost, decision.purse?.took)
    admitted(decision)
  }
  const failed = (error: unknown): void => {
    world.violation ??= { name: 'each request is decided', mistake: String(error) }
  }
  const result =
    cost === 0 && terms.least === undefined
      ? gateway.quotas.stand(asker, terms)
      : gateway.quotas.decide(asker, terms, cost)
  Promise.resolve(result).then(decided).catch(failed)
}

/** A request is under way for a while, where its caller may have only so many. */
function underWay(
  { draws, timeline }: World,
  { places: book, isAlive }: SimulatedGateway,
  { asker: { quota }, terms: { limits, parts } }: Request,
  place: Place,
  isAlone: boolean,
): void {
  if (!isAlive) return
  const end = book.begin(quota, partsWithPlaces(limits, parts), isAlone)
  const afterMs = draws.weighted([
    [4, draws.below(60)],
    [3, draws.below(4_000)],
    [1, draws.below(60_000)],
  ])
  timeline.later(() => {
    end()
    place.leave()
  }, afterMs)
}

/** What a request has cost beside what it was admitted with; `undefined` of most. */
function adjustmentOf(
  { draws }: World,
  { costsByAnswer }: Customer,
  { cost }: Decision,
): Adjustment | undefined {
  if (draws.onceIn(8)) return unanswered(cost)
  if (!costsByAnswer) return undefined
  return { points: draws.between(-cost, 4), isAnswered: true }
}

/** The answer of a request has ended. */
function end(
  gateway: SimulatedGateway,
  quota: string,
  decision: Decision,
  adjustment: Adjustment,
): void {
  if (!gateway.isAlive || adjustment.points === 0) return
  if (!decision.isUncounted) gateway.untold.owe(quota, decision, adjustment.points)
  const { alone, offline } = gateway
  const { points } = adjustment
  alone.beginAdjusting(quota, points)
  void gateway.quotas
    .adjust(quota, decision, adjustment)
    .then(() => alone.endAdjusting(quota, points, offline.usageOf(quota)))
}
