import { cpuSeconds } from '../bench/server.ts'

type Act = () => Promise<void>

const times = 5
const mostRounds = 40

/**
 * How many times the CPU time of the plain form another form takes: the least that was seen of it, by the middle of
 * the plain ones. What else a process does meanwhile, collecting garbage above all, only adds, so rounds go on until the
 * ratio is low enough; the least of the plain ones would be a chance of the clock.
 */
export async function ratioOf(
  pid: number | undefined,
  other: Act,
  plain: Act,
  lowEnough: number,
): Promise<number> {
  const plains: number[] = []
  let least = Infinity
  const ratio = (): number => least / (plains.sort((a, b) => a - b)[plains.length >> 1] ?? 0)
  for (let round = 0; round < mostRounds && !(ratio() <= lowEnough); round++) {
    plains.push(await costOf(pid, plain))
    least = Math.min(least, await costOf(pid, other))
  }
  return ratio()
}

/** The CPU time in seconds that a process takes for something, in the mean. */
async function costOf(pid: number | undefined, act: Act): Promise<number> {
  const before = cpuSeconds(pid)
  for (let i = 0; i < times; i++) await act()
  return (cpuSeconds(pid) - before) / times
}
