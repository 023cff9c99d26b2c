import { isOf, Type } from '../../../shared/schema.ts'
import { within } from '../../../shared/within.ts'
import type { Member } from '../../front/fleet/store.ts'
import type { FleetQuestions } from '../../front/fleet/questions.ts'
import { explained } from './explained.ts'
import type { RecentRefusals } from '../../front/counts/recent-refusals.ts'
import { mostFound } from '../../front/counts/refusal-store.ts'
import {
  hashed,
  newestFirst,
  wantedBy,
  type AskedRefusals,
  type StoredRefusals,
} from './stored-refusals.ts'

/** How long the store is waited for: its thread may be busy with a report. */
const longestReadMs = 20_000

/** The kind of the question for the refusals with one id. */
const kind = 'refusals'

/** One gateway's answer: its refusals with the id, and how far back it remembers. */
type GatewayAnswer = ReturnType<typeof ownAnswer>

/** The members of such an answer that are read: whoever may use the store may write one. */
const answerSchema = Type.Object({
  id: Type.String(),
  found: Type.Array(Type.Object({ time: Type.String() })),
  kept: Type.Number(),
  since: Type.String(),
})

/** The refused and failed answers with one id. */
export type FoundRefusals = Awaited<ReturnType<typeof refusalsOf>>

/** The refusals of this gateway, and its line. */
export type OwnRefusals = Readonly<{
  refusals: RecentRefusals
  self: () => Pick<Member, 'id' | 'name'>
}>

/** Reads the store for the refusals of gateways that haven't answered. */
export type ReadStored = (asked: Omit<AskedRefusals, 'nowMs'>) => Promise<StoredRefusals>

export type Asking = Readonly<{
  questions: FleetQuestions
  /** The number of gateways. */
  expected: number
  readStored: ReadStored
  /** While the others can't be asked, a gateway answers for itself. */
  own?: OwnRefusals
}>

/** Lets a gateway answer for its own refusals. Returns the function that ends it. */
export function answerForRefusals(questions: FleetQuestions, own: OwnRefusals): () => void {
  return questions.answer(kind, (about) => ownAnswer(own, about))
}

/** Asks all gateways for the refused and failed answers with an id, and the store for those of others. */
export async function refusalsOf(id: string, { questions, expected, readStored, own }: Asking) {
  const about = hashed(id)
  let isReachable = true
  const answered = await questions.ask(kind, about, expected).catch((error: unknown) => {
    if (!own) throw error
    isReachable = false
    return [ownAnswer(own, about)]
  })
  const valid = answered.filter((each) => isOf(answerSchema, each)) as readonly GatewayAnswer[]
  const except = valid.map(({ id }) => id)
  const reading = isReachable ? readStored({ about, except }).catch(() => undefined) : undefined
  const stored = reading && (await within(longestReadMs, reading))
  return {
    /** The newest first, at most `mostFound`. */
    answers: [...valid.flatMap(({ found }) => found), ...(stored?.found ?? [])]
      .sort(newestFirst)
      .slice(0, mostFound),
    gateways: { asked: Math.max(expected, valid.length), answered: valid.length },
    /** The number of answers that the gateways keep, of any id. */
    kept: valid.reduce((sum, { kept }) => sum + kept, 0),
    /** The time since which all of them have kept every answer; `null` if none of them has answered. */
    since:
      valid
        .map(({ since }) => since)
        .sort()
        .at(-1) ?? null,
    /** What the store has of other gateways: those that have stopped, or don't answer. `null` if it gives no answer. */
    stored: stored ? { gateways: stored.gateways, kept: stored.kept } : null,
  }
}

function ownAnswer({ refusals, self }: OwnRefusals, about: string) {
  const { id, name } = self()
  const { hash, isWanted } = wantedBy(about)
  return {
    /** Its process. */
    id,
    found: refusals.findLike(hash, isWanted).map((refusal) => explained(refusal, name)),
    kept: refusals.count,
    since: new Date(refusals.sinceMs).toISOString(),
  }
}
