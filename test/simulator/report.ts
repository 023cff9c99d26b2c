import type { Simulated } from './simulate.ts'

/** What `npm run simulate:protocol` prints of a simulation, and the status with which it exits. */
export function reportOf(simulated: Simulated): Readonly<{ text: string; status: number }> {
  const { seed, steps, questions, violation, trace, lines } = simulated
  if (!violation) {
    const text = `seed ${seed}: ${steps} steps, ${questions} questions, no violation, trace ${trace}`
    return { text: `${text}\n`, status: 0 }
  }
  const last = `seed ${seed} step ${steps}: ${violation.name}`
  return { text: [...lines, violation.mistake, last, ''].join('\n'), status: 1 }
}
