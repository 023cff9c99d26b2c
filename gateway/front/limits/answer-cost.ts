import { pathOf } from '../../../shared/pointer.ts'

/** The header or trailer by which a backend tells what a request has cost. */
export const costHeader = 'x-gateway-cost'

/** How an answer tells the cost of its request, and how much it may tell. */
export type AnswerCost = Readonly<{
  /** The most points. */
  atMost: number
  /** Where the body tells it; `undefined` for a header or trailer. */
  inBody?: CostInBody | undefined
}>

/** A member of a JSON body, or of events, and what its number is multiplied by. */
export type CostInBody = Readonly<{ path: readonly string[]; times: number }>

/** A cost as routes are given it: points, or an estimate and where the answer tells them. */
export type CostSetting =
  number | Readonly<{ estimate: number; from: 'answer' | CostMember; atMost?: number | undefined }>

/** A JSON pointer, and what its number is multiplied by. */
export type CostMember = Readonly<{ json: string; times?: number | undefined }>

/** The most points that a request may cost. */
export const mostCost = 1_000_000

/** The points that requests are admitted with, and how their answers tell what they have cost. */
export function costTerms(
  setting: CostSetting,
): Readonly<{ cost: number; answerCost: AnswerCost | undefined }> {
  if (typeof setting === 'number') return { cost: setting, answerCost: undefined }
  const { estimate, from, atMost = Math.min(mostCost, estimate * 10) } = setting
  if (from === 'answer') return { cost: estimate, answerCost: { atMost } }
  const inBody = { path: pathOf(from.json), times: from.times ?? 1 }
  return { cost: estimate, answerCost: { atMost, inBody } }
}

/** A header's value as Node and undici give it. */
export type ToldCost = string | string[]

/** `told`, or why a request costs something else: nothing was told, nonsense, or more than the route allows. */
export const costOutcomes = ['told', 'missing', 'malformed', 'capped'] as const

export type AnsweredCost = Readonly<{ cost: number; outcome: (typeof costOutcomes)[number] }>

/** The cost of a request that its answer tells; the estimate stands where it tells none. */
export function costOf(
  costText: ToldCost | undefined,
  estimate: number,
  { atMost }: AnswerCost,
): AnsweredCost {
  if (costText === undefined) return { cost: estimate, outcome: 'missing' }
  if (!isWellFormed(costText)) return { cost: estimate, outcome: 'malformed' }
  const cost = Number(costText)
  return cost > atMost ? { cost: atMost, outcome: 'capped' } : { cost, outcome: 'told' }
}

/** The cost of a header and a trailer that counts: the trailer's, unless it is malformed and a header is there. */
export function toldCostOf(
  header: ToldCost | undefined,
  trailer: ToldCost | undefined,
): ToldCost | undefined {
  if (trailer === undefined) return header
  return header === undefined || isWellFormed(trailer) ? trailer : header
}

/** Whether a value is one number of up to ten digits. */
export function isWellFormed(costText: ToldCost): boolean {
  return typeof costText === 'string' && /^\d{1,10}$/.test(costText)
}
