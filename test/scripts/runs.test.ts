import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { folderOf } from '../support/folder.ts'
import { root } from '../support/process.ts'

const module = JSON.stringify(join(root, 'config/scripts/runs.mjs'))
const passes = `import t from 'tap'
t.pass('a claim')`
const fails = `import t from 'tap'
t.equal(1, 2, 'a claim')`
/** Passes from its second run on. */
const failsOnce = `import { existsSync, writeFileSync } from 'node:fs'
import t from 'tap'
const mark = import.meta.url.slice(7) + '.has-run'
t.ok(existsSync(mark), 'a claim')
writeFileSync(mark, '')`

/** Runs programs as files of tests, all in one folder. */
function runOf(t: Test, programs: readonly string[], options: object = {}) {
  const folder = folderOf(t)
  const log = join(folder, 'log')
  programs.forEach((program, i) => {
    const noted = `import { appendFileSync } from 'node:fs'
    appendFileSync(${JSON.stringify(log)}, '${i} ')\n`
    // A program may begin with imports of its own.
    writeFileSync(join(folder, `${i}.test.ts`), program + '\n' + noted.replaceAll('\n    ', '\n'))
  })
  const script = `import { filesOf, runFiles } from ${module}
  process.exitCode = (await runFiles(filesOf([${JSON.stringify(folder)}]), ${JSON.stringify(options)})) ? 0 : 1`
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    ...['--input-type=module', '-e', script],
  ])
  const order = existsSync(log) ? readFileSync(log, 'utf8').trim().split(' ').map(Number) : []
  return { status, order, output: String(stdout) + String(stderr) }
}

for (const isShared of [true, false]) {
  const way = isShared ? 'files that share a process' : 'files with a process each'

  t.test(`${way}: each is a test in one text of TAP, and what they claim is summed up`, (t) => {
    const { status, output } = runOf(t, [passes, passes, passes], { isShared })
    t.equal(status, 0, output)
    t.equal(output.match(/^TAP version 14$/gm)?.length, 1)
    t.match(output, /^1\.\.3$/m)
    t.match(output, /^# Subtest: .*1\.test\.ts\n {4}ok 1 - a claim$/m)
    t.match(output, /^ok 3 - .*\.test\.ts # time=\d+ms$/m)
    t.match(output, '# { total: 3, pass: 3 }')
    t.end()
  })

  t.test(`${way}: what failed is told again at the end, without the tests it is in`, (t) => {
    // Its todo is there for the runner to read: an assertion that may fail, beside two that only speak of one.
    const inside = `import t from 'tap'
    t.test('outer', (t) => {
      t.pass('fine')
      t.equal(1, 2, 'wrong', { todo: 'later' })
      t.pass('says # TODO')
      t.test('inner', (t) => { t.equal(1, 2, 'a claim # TODO'); t.end() })
      t.end()
    })`
    const { status, output } = runOf(t, [inside, passes], { isShared })
    t.equal(status, 1, output)
    t.match(output, '# { total: 5, pass: 3, todo: 1, fail: 1 }')
    t.match(output, /^not ok \d - .*0\.test\.ts # time=\d+ms\n {2}---\n {2}failures: 1\n/m)
    t.match(output, /^# Failed: .*0\.test\.ts\n {8}not ok 1 - a claim \\# TODO\n {10}---\n/m)
    t.notMatch(output.slice(output.indexOf('# Failed: ')), /^ *not ok \d - (?:outer|inner)/m)
    t.equal(output.match(/^# Failed: /gm)?.length, 1)
    t.end()
  })

  t.test(`${way}: one that doesn’t end as a test does has failed`, (t) => {
    const reasons = [
      [
        "process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000)",
        /its process ended: SIGSEGV/,
      ],
      [`${passes}; process.exit(4)`, /its process ended: 4|test unfinished/],
      [`${passes}; t.plan(2)`, /test unfinished|test count/],
      ['throw new Error("at once")', /at once|its process ended: 1/],
      [`import './missing.ts'`, /missing.ts|its process ended: 1/],
      ['', /it has no tests/],
    ] as const
    const programs = reasons.map(([program]) => program)
    const { status, output } = runOf(t, programs, { isShared })
    t.equal(status, 1)
    const failures = output.split('\n# Failed: ')
    for (const [i, [, reason]] of reasons.entries()) {
      const failure = failures.find((each) => each.split('\n')[0]?.endsWith(`/${i}.test.ts`)) ?? ''
      t.match(failure, reason)
    }
    for (const [late, reason] of [
      ['process.exitCode = 3', /^it(?:s process)? ended: 3$/m],
      ['setTimeout(() => { throw new Error("late") }, 50)', /late/],
    ] as const) {
      const ended = runOf(t, [`${passes}; ${late}`], { isShared })
      t.equal(ended.status, 1)
      t.match(ended.output, reason)
    }
    t.end()
  })

  t.test(`${way}: one that hangs is ended, and with it whoever waits for it`, (t) => {
    // Its child holds its output, and outlives it for a while.
    const hangs = `import { spawn } from 'node:child_process'
    spawn('sleep', ['20'], { stdio: ['ignore', 'inherit', 'ignore'] })
    for (;;);`
    const startMs = Date.now()
    const { status, output } = runOf(t, [hangs], { seconds: -27, isShared })
    t.equal(status, 1)
    t.match(output, 'its process ended: SIGKILL')
    t.ok(Date.now() - startMs < 15_000)
    t.end()
  })
}

t.test('a process goes on after a file that passed, and not after one that failed', (t) => {
  const pid = `import t from 'tap'
  t.comment('pid ' + process.pid)`
  const programs = [`${pid}; t.pass()`, `${pid}; t.fail()`, `${pid}; t.pass()`]
  const { output } = runOf(t, programs, { jobs: 1 })
  // Failures are told last.
  const [first, third, second] = [...output.matchAll(/# pid (\d+)/g)].map(([, pid]) => pid)
  t.equal(second, first)
  t.not(third, second)
  t.end()
})

t.test('a few files that fail beside the others are run once more, one after the other', (t) => {
  const programs = [failsOnce, passes, failsOnce, passes]
  const { status, output, order } = runOf(t, programs, { twice: true })
  t.equal(status, 0, output)
  t.strictSame(order.slice(4).sort(), [0, 2])
  t.match(output, /^# Failed beside others, passed alone: .*2\.test\.ts$/m)
  t.match(output, /^# Failed beside others: .*2\.test\.ts\n# not ok 1 - a claim\n# {3}---$/m)
  t.notMatch(output, /^not ok/m, 'each file is told once')
  t.equal(runOf(t, programs).status, 1, 'only where that is asked for')
  t.end()
})

t.test('a file that fails alone as well has failed, and the end says why', (t) => {
  const { status, output } = runOf(t, [failsOnce, fails], { twice: true })
  t.equal(status, 1, output)
  t.match(output, /^# Failed beside others, passed alone: .*0\.test\.ts$/m)
  t.match(output, /^not ok \d - .*1\.test\.ts/m)
  t.match(output, /# Failed: .*1\.test\.ts\nnot ok 1 - a claim\n {2}---\n {2}compare: ===/)
  t.end()
})

t.test('nothing is run twice after many failures', (t) => {
  const { status, order } = runOf(
    t,
    Array.from({ length: 6 }, () => failsOnce),
    { twice: true },
  )
  t.equal(status, 1)
  t.equal(order.length, 6)
  t.end()
})

t.test(
  'a test of a folder is a test file, each runs once, and a name that isn’t there is no file',
  (t) => {
    const folder = folderOf(t)
    mkdirSync(join(folder, 'inside'))
    for (const name of ['b.test.ts', 'a.ts', 'inside/c.test.ts'])
      writeFileSync(join(folder, name), '')
    const inFolder = (names: readonly string[]) => names.map((name) => join(folder, name))
    const named = [[''], ['a.ts'], ['', 'no'], ['b.test.ts', '', 'inside/../b.test.ts']].map(
      inFolder,
    )
    const script = `import { filesOf } from ${module}
  console.log(JSON.stringify(${JSON.stringify(named)}.map(filesOf)))`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script])
    const inRoot = (names: readonly string[]) => inFolder(names).map((file) => relative(root, file))
    t.strictSame(JSON.parse(String(stdout)), [
      inRoot(['b.test.ts', 'inside/c.test.ts']),
      inRoot(['a.ts']),
      null,
      inRoot(['b.test.ts', 'inside/c.test.ts']),
    ])
    t.end()
  },
)
