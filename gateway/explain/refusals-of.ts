import type { FleetQuestions } from '../fleet/questions.ts'
import { explained, type Explained } from './explained.ts'
import { mostFound, type RecentRefusals } from './recent-refusals.ts'

/** The kind of the question for the refusals with one id. */
const kind = 'refusals'

/** What one gateway says: its refusals with the id, and how far back it remembers. */
type Told = Readonly<{ found: readonly Explained[]; kept: number; since: string | null }>

/** The refused and failed answers with one id. */
export type FoundRefusals = Readonly<{
  /** The newest first. */
  answers: readonly Explained[]
  gateways: Readonly<{ asked: number; answered: number }>
  /** The number of answers that the gateways keep, of any id. */
  kept: number
  /** The time since which all of them have kept every answer; `null` if none is kept. */
  since: string | null
}>

/** Lets a gateway answer for its own refusals. Returns the function that ends it. */
export function tellOfRefusals(
  questions: FleetQuestions,
  refusals: RecentRefusals,
  gateway: string,
): () => void {
  return questions.answer(kind, (id): Told => {
    const { count, sinceMs } = refusals
    const found = refusals.find(id).map((kept) => explained(kept, gateway))
    return {
      found,
      kept: count,
      since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    }
  })
}

/** Asks all gateways for the refused and failed answers with an id; `expected` is the number of gateways. */
export async function refusalsOf(
  questions: FleetQuestions,
  expected: number,
  id: string,
): Promise<FoundRefusals> {
  const told = (await questions.ask(kind, id, expected)) as readonly Told[]
  const answers = told
    .flatMap(({ found }) => found)
    .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
    .slice(0, mostFound)
  const since = told.flatMap(({ since }) => since ?? []).sort()
  return {
    answers,
    gateways: { asked: Math.max(expected, told.length), answered: told.length },
    kept: told.reduce((sum, { kept }) => sum + kept, 0),
    since: since.at(-1) ?? null,
  }
}
