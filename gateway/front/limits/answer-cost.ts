import { pathOf } from '../../../shared/pointer.ts'

/** The header or trailer by which a backend tells what a request has cost. */
export const costHeader = 'x-gateway-cost'

/** How an answer tells the cost of its request, and what it costs where nothing is told. */
export type AnswerCost = Readonly<{
  /** The most points. */
  atMost: number
  /** The members of the body that tell it; `undefined` for a header or trailer. */
  inBody?: readonly CostMember[] | undefined
  /** What a whole answer costs that tells nothing. */
  untold: Untold
  /** What a request costs whose caller leaves before all is told: what was passed on, or a fixed number. */
  left: Left
  /** How long, and how many bytes, the gateway reads on for the cost when the caller has left; `undefined` for not at all. */
  drain?: DrainBounds | undefined
}>

export const untoldCosts = ['estimate', 'atMost', 'nothing'] as const
export type Untold = (typeof untoldCosts)[number]
export const leftCosts = ['passed', 'estimate', 'atMost'] as const
export type Left = (typeof leftCosts)[number]

export type DrainBounds = Readonly<{ timeMs: number; bytes: number }>

/** A number of a JSON body, or of events, wherever it stands there, and what it is multiplied by, in millionths. */
export type CostMember = Readonly<{
  paths: readonly (readonly string[])[]
  millionths: number
}>

/** A cost as routes are given it: points, or an estimate and where the answer tells them. */
export type CostSetting =
  | number
  | Readonly<{
      estimate: number
      from: 'answer' | WrittenMembers
      atMost?: number | undefined
      untold?: Untold | undefined
      left?: Left | undefined
      drain?: DrainBounds | undefined
    }>

/** One pointer and its factor, or weights by pointers with spaces between. */
export type WrittenMembers = Readonly<{
  json: string | Readonly<Record<string, number>>
  times?: number | undefined
}>

/** The most points that a request may cost. */
export const mostCost = 1_000_000

const million = 1_000_000

/** The points that requests are admitted with, and how their answers tell what they have cost. */
export function costTerms(
  setting: CostSetting,
): Readonly<{ cost: number; answerCost: AnswerCost | undefined }> {
  if (typeof setting === 'number') return { cost: setting, answerCost: undefined }
  const { estimate, from, atMost = Math.min(mostCost, estimate * 10) } = setting
  const inBody = from === 'answer' ? undefined : membersOf(from)
  const { untold = 'estimate', left = inBody ? 'passed' : 'estimate', drain } = setting
  return { cost: estimate, answerCost: { atMost, inBody, untold, left, drain } }
}

function membersOf({ json, times = 1 }: WrittenMembers): readonly CostMember[] {
  const weights = typeof json === 'string' ? [[json, times] as const] : Object.entries(json)
  return weights.map(([pointers, weight]) => ({
    paths: pointersIn(pointers).map(pathOf),
    millionths: Math.round(weight * million),
  }))
}

/** The pointers of a member. */
export function pointersIn(text: string): readonly string[] {
  return text.split(/ (?=\/)/)
}

/** Points of numbers and their members' weights: summed exactly, and rounded up once. */
export function pointsOf(numbers: readonly number[], members: readonly CostMember[]): number {
  const sum = members.reduce(
    (sum, { millionths }, i) => sum + BigInt(numbers[i] ?? 0) * BigInt(millionths),
    0n,
  )
  return Number((sum + BigInt(million - 1)) / BigInt(million))
}

/** A header's value as Node and undici give it. */
export type ToldCost = string | string[]

/**
 * `told`, or why a request costs something else: nothing was told, nonsense, more than the route allows, or its caller has left.
 */
export const costOutcomes = ['told', 'missing', 'malformed', 'capped', 'left'] as const

export type AnsweredCost = Readonly<{ cost: number; outcome: (typeof costOutcomes)[number] }>

/** What was told of a cost: all of it, or a part, and the points of the events that were passed on. */
export type Told = Readonly<{ costText: ToldCost | undefined; isWhole: boolean; passed: number }>

/** The end of an answer: its status, 0 without one, and whether it came whole, was broken off, or its caller has left. */
export type AnswerEnd = Readonly<{ status: number; end: 'whole' | 'broken' | 'left' }>

/** The cost of a request by what its answer has told; by the rules of its route where it tells nothing. */
export function costOf(
  { costText, isWhole, passed }: Told,
  estimate: number,
  terms: AnswerCost,
  { status, end }: AnswerEnd,
): AnsweredCost {
  const { atMost, untold, left } = terms
  const told = costText !== undefined && isWellFormed(costText) ? Number(costText) : undefined
  if (end === 'left' && (told === undefined || !isWhole)) {
    const by = { passed: Math.max(passed, estimate), estimate, atMost }[left]
    return { cost: Math.min(atMost, Math.max(by, told ?? 0)), outcome: 'left' }
  }
  if (told !== undefined) {
    return told > atMost ? { cost: atMost, outcome: 'capped' } : { cost: told, outcome: 'told' }
  }
  const outcome = costText === undefined ? 'missing' : 'malformed'
  if (end === 'broken') return { cost: estimate, outcome }
  const by = { estimate, atMost, nothing: outcome === 'missing' ? 0 : estimate }[untold]
  return { cost: status >= 400 ? Math.min(by, estimate) : by, outcome }
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
