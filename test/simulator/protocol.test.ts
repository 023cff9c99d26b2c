import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../support/process.ts'
import type { Invariant } from './moment.ts'
import { reportOf } from './report.ts'
import { simulate } from './simulate.ts'
import { trySeeds } from './try-seeds.ts'

t.test(
  'the same seed and steps have the same trace, in any process, and others have another one',
  async (t) => {
    const [first, again, other] = [
      await simulate(7, 5_000),
      await simulate(7, 5_000),
      await simulate(8, 5_000),
    ]
    t.match(first, { steps: 5_000, violation: undefined, trace: /^[0-9a-f]{16}$/ })
    t.ok(first.questions > 100)
    t.equal(again.trace, first.trace)
    t.not(other.trace, first.trace)
    const { stdout, status } = command('--seed', '7', '--steps', '5000')
    t.equal(stdout, reportOf(first).text)
    t.equal(status, 0)
  },
)

t.test('a violation tells the step, the law and the latest events', async (t) => {
  let answers = 0
  const never: Invariant = {
    name: 'nobody is answered a hundred times',
    mistakeAt: ({ what }) => (what === 'served' && ++answers === 100 ? 'somebody was' : undefined),
  }
  const simulated = await simulate(7, 5_000, { invariants: [never] })
  const { text, status } = reportOf(simulated)
  const lines = text.trimEnd().split('\n')
  t.equal(status, 1)
  t.equal(lines.length, 22, 'twenty events, the mistake and the law')
  t.match(lines.at(-2), 'somebody was')
  t.equal(lines.at(-1), `seed 7 step ${simulated.steps}: ${never.name}`)
  t.ok(simulated.steps < 5_000)
})

t.test('the command draws a seed and tells it, and refuses others than whole numbers', (t) => {
  t.match(
    command('--steps', '10').stdout,
    /^seed \d+: 10 steps, \d+ questions, no violation, trace/,
  )
  t.match(command('--seed', '1.5'), { status: 2, stderr: /--seed must be a whole number/ })
  t.end()
})

t.test('the invariants hold for ten seconds', async (t) => {
  const { failure, seeds, steps, questions } = await trySeeds(10, 20_000)
  t.equal(failure, undefined)
  t.ok(seeds > 0)
  t.comment(`${seeds} seeds, ${steps} steps, ${questions} questions`)
})

function command(...options: string[]) {
  const file = join(root, 'test', 'simulator', 'main.ts')
  return spawnSync(process.execPath, [file, ...options], { encoding: 'utf8' })
}
