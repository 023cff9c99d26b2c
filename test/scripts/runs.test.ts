import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../support/process.ts'

const module = join(root, 'config/scripts/runs.mjs')

/** Runs all of some files by a program that fails those of its first run, and those of its second. */
function runsOf(first: readonly string[], second: readonly string[], planned = 9) {
  const result = spawnSync(process.execPath, [
    ...['--input-type=module', '-e'],
    `import { spawn } from 'node:child_process'
    import { runAll } from ${JSON.stringify(module)}
    const runs = ${JSON.stringify([first, second])}
    const program = \`const [words, failed, planned] = process.argv.slice(1).map((text) => JSON.parse(text))
      const files = words.length > 0 ? words.slice(1) : Array.from({ length: 9 }, (_, i) => 'file-' + i)
      console.log('# runs ' + (words.join(' ') || 'all') + '\\\\n1..' + (planned || files.length))
      files.forEach((file, i) => console.log((failed.includes(file) ? 'not ' : '') + 'ok ' + (i + 1) + ' - ' + file))
      process.exitCode = failed.length > 0 ? 1 : 0\`
    let planned = ${planned}
    const isFine = await runAll((...words) => {
      const args = [words, runs.shift(), planned].map((value) => JSON.stringify(value))
      planned = 0
      return spawn(process.execPath, ['-e', program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    })
    process.exitCode = isFine ? 0 : 1`,
  ])
  return { status: result.status, output: String(result.stdout) + String(result.stderr) }
}

t.test('a few files that fail beside the others are run once more, one after the other', (t) => {
  const { status, output } = runsOf(['file-2', 'file-7'], [])
  t.equal(status, 0, output)
  t.match(output, '# runs --jobs=1 file-2 file-7')
  t.match(output, '# Failed beside others, passed alone: file-7')
  t.end()
})

t.test('a file that fails alone as well has failed', (t) => {
  const { status, output } = runsOf(['file-2', 'file-7'], ['file-7'])
  t.equal(status, 1, output)
  t.match(output, '# Failed beside others, passed alone: file-2')
  t.notMatch(output, 'passed alone: file-7')
  t.end()
})

t.test('nothing is run twice after a pass, after many failures, or if files were left out', (t) => {
  const many = Array.from({ length: 6 }, (_, i) => `file-${i}`)
  for (const [run, expected] of [
    [runsOf([], []), 0],
    [runsOf(many, []), 1],
    [runsOf(['file-2'], [], 10), 1],
  ] as const) {
    t.equal(run.status, expected, run.output)
    t.equal(run.output.match(/# runs/g)?.length, 1, run.output)
  }
  t.end()
})
