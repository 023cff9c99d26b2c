import { byLimit, windowOf, type LimitName, type Window } from '../../shared/windows.ts'
import { countsBrief, type Limits } from '../../gateway/front/limits/limits.ts'
import type { BanRules } from '../../gateway/front/limits/conduct.ts'
import type { DecisiveTerms } from '../../gateway/front/limits/cached-refusals.ts'
import { capPart, operationPart, type Part } from '../../gateway/front/limits/parts.ts'
import type { Draws } from './draws.ts'

/** Somebody with a quota, and one or several keys. */
export type Customer = {
  readonly quota: string
  readonly keys: readonly string[]
  readonly kind: Kind
  /** The limits and bans of its keys, which operators change. */
  limits: Limits
  included: Limits | undefined
  /** The window in which what isn't included is taken from bought points. */
  prepaid: Window | undefined
  /** The ids and points of its latest top-ups, below 0 of corrections, which operators may send again. */
  readonly topUps: (readonly [id: string, points: number])[]
  bans: BanRules | undefined
  /** Of operations and caps, for those that have any. */
  parts: readonly Part[]
  /** Whether answers tell what requests have cost. */
  readonly costsByAnswer: boolean
  /** Whether its requests under way are limited. */
  readonly hasPlaces: boolean
}

const kinds = ['plain', 'long', 'brief', 'parts', 'metered', 'places', 'prepaid'] as const
type Kind = (typeof kinds)[number]

/** The same for all: short, so that bans begin and end while a minute runs. */
const banRules: BanRules = {
  ...{ strikes: 4, withinMs: 30_000, graceMs: 500, forMs: 2_500, factor: 2, atMostMs: 60_000 },
  memoryMs: 120_000,
}

/** Customers of each kind. */
export function drawCustomers(draws: Draws): Customer[] {
  return Array.from({ length: draws.between(2, 6) }, (_, i) => {
    const kind = draws.onceIn(6) ? 'prepaid' : draws.oneOf(kinds)
    const quota = `q${i}`
    const keys = Array.from({ length: draws.between(1, 3) }, (_, k) => `${quota}k${k}`)
    const customer: Customer = {
      ...{ quota, keys, kind, limits: noneYet, bans: undefined, parts: [] },
      ...{ included: undefined, prepaid: undefined, topUps: [] },
      costsByAnswer: draws.onceIn(2),
      hasPlaces: kind === 'places' || (kind === 'prepaid' && draws.onceIn(4)),
    }
    changeTerms(customer, draws)
    return customer
  })
}

const noneYet = byLimit(() => Infinity)

/** New limits, as after a change of the customer's plan. */
export function changeTerms(customer: Customer, draws: Draws): void {
  const { kind, keys } = customer
  customer.limits = limitsOf(kind, draws)
  customer.bans = draws.onceIn(3) ? banRules : undefined
  customer.included = kind === 'metered' ? byLimit(() => Infinity) : undefined
  if (customer.included) {
    customer.included = Object.freeze({ ...customer.included, perDay: draws.between(3, 20) })
  }
  if (kind === 'prepaid') {
    const window = windowOf(draws.oneOf(['day', 'week', 'month']))
    customer.prepaid = window
    customer.limits = { ...customer.limits, [window.limit]: Infinity }
    const most = draws.onceIn(4) ? 0 : draws.between(3, 40)
    customer.included = Object.freeze({ ...byLimit(() => Infinity), [window.limit]: most })
    customer.parts = draws.onceIn(2) ? [operationPart('exports', small(draws))] : []
  }
  if (customer.hasPlaces) {
    customer.limits = { ...customer.limits, atOnce: draws.between(1, 4) }
    const exportsAtOnce = { ...byLimit(() => Infinity), atOnce: draws.between(1, 2) }
    customer.parts = [operationPart('exports', exportsAtOnce)]
  }
  if (kind !== 'parts') return
  const hourly = (): Limits => ({ ...small(draws), perHour: draws.between(3, 15) })
  customer.parts = [
    operationPart('exports', { ...small(draws), perWeek: draws.between(10, 60) }),
    operationPart('searches', hourly()),
    ...keys.map((key) => capPart(key, 1, hourly())),
  ]
}

function small(draws: Draws): Limits {
  return { perMinute: draws.between(1, 8), perDay: draws.between(4, 30) }
}

function limitsOf(kind: Kind, draws: Draws): Limits {
  const day = draws.between(15, 80)
  const some: Partial<Record<LimitName, number>> = {}
  if (kind === 'brief') some.perSecond = draws.between(1, 5)
  if (kind === 'long' || draws.onceIn(4)) some.perHour = draws.between(8, 40)
  if (kind === 'long' || draws.onceIn(4)) some.perWeek = draws.between(25, 150)
  if (kind === 'long' || draws.onceIn(4)) some.perMonth = draws.between(30, 200)
  const perMinute = draws.onceIn(6) ? Infinity : draws.between(3, 24)
  return { ...some, perMinute, perDay: draws.onceIn(6) ? Infinity : day }
}

/** The terms of one request. */
export function drawTerms(customer: Customer, key: string, draws: Draws): DecisiveTerms {
  const { limits, included, prepaid, bans, parts, hasPlaces } = customer
  const operation = draws.oneOf(['exports', 'searches', undefined])
  const asked = parts.filter(
    ({ name, operation: own }) =>
      (own !== undefined && own === operation) || name.startsWith(`cap:${key}.`),
  )
  const least = draws.onceIn(12) ? draws.between(1, 4) : undefined
  return {
    ...{ limits, included, prepaid, bans, least, countsBrief: countsBrief(limits) },
    parts: asked.length > 0 ? asked : undefined,
    hasPlaces,
  }
}
