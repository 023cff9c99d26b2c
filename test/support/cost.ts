import { cpuSeconds } from '../bench/server.ts'

type Act = () => Promise<void>

const times = 5
const mostRounds = 40

/**
 * How many times the processor time of the plain form another form takes, of the least that was seen of each. What else a
 * process does meanwhile, collecting garbage above all, only adds, so rounds go on until the ratio is low enough.
 */
export async function ratioOf(
  pid: number | undefined,
  other: Act,
  plain: Act,
  lowEnough: number,
): Promise<number> {
  let [least, leastPlain] = [Infinity, Infinity]
  for (let round = 0; round < mostRounds; round++) {
    leastPlain = Math.min(leastPlain, await costOf(pid, plain))
    least = Math.min(least, await costOf(pid, other))
    if (least <= lowEnough * leastPlain) break
  }
  return least / leastPlain
}

/** The processor time in seconds that a process takes for something, in the mean. */
async function costOf(pid: number | undefined, act: Act): Promise<number> {
  const before = cpuSeconds(pid)
  for (let i = 0; i < times; i++) await act()
  return (cpuSeconds(pid) - before) / times
}
