import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'

/** `npm run simulate:protocol`: prints one line, and how it went wrong if it did. */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, steps: { type: 'string', default: '1000000' } },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const steps = Number(values.steps)
if (![seed, steps].every((number) => Number.isSafeInteger(number) && number >= 0)) {
  throw new Error('--seed and --steps are whole numbers')
}
const { violation, lines, questions, trace, steps: done } = await simulate(seed, steps)
if (violation) {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  process.stdout.write(`${violation.mistake}\nseed ${seed} step ${done}: ${violation.name}\n`)
  process.exit(1)
}
process.stdout.write(
  `seed ${seed}: ${done} steps, ${questions} questions, no violation, trace ${trace}\n`,
)
