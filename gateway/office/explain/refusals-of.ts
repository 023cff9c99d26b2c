import { createHash } from 'node:crypto'
import { isOf, Type } from '../../../shared/schema.ts'
import type { FleetQuestions } from '../../front/fleet/questions.ts'
import { explained, type Explained } from './explained.ts'
import { mostFound, type RecentRefusals } from '../../front/counts/recent-refusals.ts'
import { hashOf } from '../../front/counts/refusal-block.ts'

/** The kind of the question for the refusals with one id. */
const kind = 'refusals'

/** One gateway's answer: its refusals with the id, and how far back it remembers. */
type GatewayAnswer = Readonly<{ found: readonly Explained[]; kept: number; since: string }>

/** The members of such an answer that are read: whoever may use the store may write one. */
const answerSchema = Type.Object({
  found: Type.Array(Type.Object({ time: Type.String() })),
  kept: Type.Number(),
  since: Type.String(),
})

/** The refused and failed answers with one id. */
export type FoundRefusals = Readonly<{
  /** The newest first. */
  answers: readonly Explained[]
  gateways: Readonly<{ asked: number; answered: number }>
  /** The number of answers that the gateways keep, of any id. */
  kept: number
  /** The time since which all of them have kept every answer; `null` if none of them has answered. */
  since: string | null
}>

/** The refusals of this gateway, and its name. */
export type OwnRefusals = Readonly<{ refusals: RecentRefusals; gateway: string }>

/** Lets a gateway answer for its own refusals. Returns the function that ends it. */
export function answerForRefusals(questions: FleetQuestions, own: OwnRefusals): () => void {
  return questions.answer(kind, (about) => ownAnswer(own, about))
}

/**
 * Asks all gateways for the refused and failed answers with an id; `expected` is the number of gateways. While they can't
 * be asked, a gateway answers for itself.
 */
export async function refusalsOf(
  questions: FleetQuestions,
  expected: number,
  id: string,
  own?: OwnRefusals,
): Promise<FoundRefusals> {
  const about = hashed(id)
  const answered = await questions.ask(kind, about, expected).catch((error: unknown) => {
    if (own) return [ownAnswer(own, about)]
    throw error
  })
  const valid = answered.filter((each) => isOf(answerSchema, each)) as readonly GatewayAnswer[]
  const answers = valid
    .flatMap(({ found }) => found)
    .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
    .slice(0, mostFound)
  return {
    answers,
    gateways: { asked: Math.max(expected, valid.length), answered: valid.length },
    kept: valid.reduce((sum, { kept }) => sum + kept, 0),
    since:
      valid
        .map(({ since }) => since)
        .sort()
        .at(-1) ?? null,
  }
}

function ownAnswer({ refusals, gateway }: OwnRefusals, about: string): GatewayAnswer {
  const [hash = '', digest = ''] = about.split(' ')
  const explainable = refusals.findLike(Number(hash), (id) => digestOf(id) === digest)
  return {
    found: explainable.map((refusal) => explained(refusal, gateway)),
    kept: refusals.count,
    since: new Date(refusals.sinceMs).toISOString(),
  }
}

/** An id as it is asked for: hashed, because somebody may ask for a token by mistake. */
function hashed(id: string): string {
  return `${hashOf(id)} ${digestOf(id)}`
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
