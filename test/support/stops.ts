import { once } from 'node:events'
import type { Observation } from '../bench/probe.ts'
import type { Service } from './process.ts'

/** Measures the loop of a process that loads it first. */
export const probe = 'test/bench/probe.ts'

/** The time for what a process still does after an answer. */
const afterwardsMs = 50

/** The longest piece of CPU time in ms that the loop of a process takes at once while something runs. */
export async function longestPieceMs(
  { child }: Service,
  act: () => Promise<unknown>,
): Promise<number> {
  const observed = async (): Promise<Observation> => {
    const answer = once(child, 'message')
    child.send('observe')
    const [{ observed }] = (await answer) as [{ observed: Observation }]
    return observed
  }
  await observed()
  await act()
  await new Promise((resolve) => setTimeout(resolve, afterwardsMs))
  const { piecesMs } = await observed()
  return Math.max(...piecesMs)
}
