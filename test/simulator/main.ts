import { parseArgs } from 'node:util'
import { reportOf } from './report.ts'
import { simulate } from './simulate.ts'

/** `npm run simulate:protocol -- --seed 7 --steps 1000000`: one line, or how it went wrong. Without a seed it draws one. */
const { values } = parseArgs({ options: { seed: { type: 'string' }, steps: { type: 'string' } } })
const seed = wholeNumber('seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)))
const steps = wholeNumber('steps', values.steps ?? '1000000')
const { text, status } = reportOf(await simulate(seed, steps))
process.stdout.write(text)
process.exitCode = status

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  process.stderr.write(`--${name} must be a whole number of 10 digits at most, got "${text}"\n`)
  process.exit(2)
}
