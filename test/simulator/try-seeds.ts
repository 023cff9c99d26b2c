import { reportOf } from './report.ts'
import { simulate } from './simulate.ts'
import type { Happening } from './happening.ts'

export type TriedSeeds = Readonly<{
  seeds: number
  steps: number
  questions: number
  replayed: number
  /** How the first one went wrong, if one did. */
  failure: string | undefined
}>

/** Simulates one seed after the other, from 1 on, until a time is over. How many it has time for says nothing about them. */
export async function trySeeds(
  seconds: number,
  stepsOfEach: number,
  replayed?: (seed: number, happenings: readonly Happening[]) => Promise<string | undefined>,
): Promise<TriedSeeds> {
  const endMs = performance.now() + seconds * 1_000
  const tried = { seeds: 0, steps: 0, questions: 0, replayed: 0 }
  while (performance.now() < endMs) {
    const seed = ++tried.seeds
    const happenings: Happening[] = []
    const isReplayed = replayed !== undefined && seed % replayedOf === 1
    const happened = isReplayed ? (each: Happening) => void happenings.push(each) : undefined
    const simulated = await simulate(seed, stepsOfEach, { happened })
    tried.steps += simulated.steps
    tried.questions += simulated.questions
    const { text, status } = reportOf(simulated)
    if (status !== 0) return { ...tried, failure: text }
    if (!isReplayed) continue
    const difference = await replayed(seed, happenings)
    if (difference) return { ...tried, failure: `seed ${seed}, in a real Redis: ${difference}` }
    tried.replayed++
  }
  return { ...tried, failure: undefined }
}

/** One seed of so many is replayed. */
const replayedOf = 100
