import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { checkout, runNode } from '../support/checkout.ts'
import { folderOf } from '../support/folder.ts'
import { root } from '../support/process.ts'

const module = JSON.stringify(join(root, 'config/scripts/runs.mjs'))
const { sharesOf } = (await import(pathToFileURL(join(root, 'config/scripts/times.mjs')).href)) as {
  sharesOf: (files: readonly string[], times: object, count: number) => string[][]
}
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
  process.exitCode = (await runFiles(filesOf([${JSON.stringify(folder)}]), ${JSON.stringify(options)})).isFine ? 0 : 1`
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

/** A checkout with packages, and with files of tests: one that passes, one that needs a Redis, and a fleet's, which fails. */
function checkoutWithTests(t: Test) {
  const folder = checkout(t)
  const place = join(folder, 'checkout')
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  const files = {
    'test/gateway/plain.test.ts': passes,
    'test/gateway/store.test.ts': `import t from 'tap'
t.test('in a file', (t) => { t.pass(); t.end() })
t.test('on Redis', async () => { throw new Error('There is no redis-server.') })`,
    'test/fleet/long.test.ts': fails,
  }
  mkdirSync(join(place, 'test/gateway'))
  mkdirSync(join(place, 'test/fleet'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text)
  for (const name of [
    '.',
    'gateway/office/admin/console',
    'gateway/front/portal/page',
    'gateway/front/http/page',
  ]) {
    mkdirSync(join(place, name), { recursive: true })
    writeFileSync(
      join(place, name, 'tsconfig.json'),
      '{ "compilerOptions": { "noEmit": true }, "files": ["one.ts"] }',
    )
    writeFileSync(join(place, name, 'one.ts'), 'export const one: number = 1')
  }
  const script = join(place, 'config/scripts/test.mjs')
  /** Where neither a Redis nor Debian's packages can be found. */
  const bare = { PATH: join(folder, 'empty') }
  return (words: readonly string[], env = {}) => runNode([script, ...words], { ...bare, ...env })
}

t.test('npm test says last what it has proven, what it hasn’t, and what else there is', (t) => {
  const run = checkoutWithTests(t)
  const usual = run([])
  t.equal(usual.status, 0, usual.output)
  t.match(usual.output, /^ok \d - .*store\.test\.ts # SKIP parts of it need a redis-server$/m)
  t.match(
    usual.output,
    /# Proven: 2 claims in 2 files, types\. Not proven: parts of 1 file\. Tests need a redis-server, .*REDIS_SERVER_BIN to one\. npm run test:all adds style, .*\.\n/,
  )
  t.match(
    run(['test/gateway']).output,
    /# Proven: 2 claims in 2 files\. Not proven: parts of 1 file\. /,
  )
  for (const [words, env] of [
    [[], { CI: 'true' }],
    [['all'], {}],
  ] as const) {
    const whole = run(words, env)
    t.equal(whole.status, 1)
    t.match(whole.output, /^Tests need a redis-server/m)
  }
  const REDIS_SERVER_BIN = process.execPath
  const failed = run([], { REDIS_SERVER_BIN })
  t.equal(failed.status, 1, 'with a Redis, that is no reason')
  t.match(failed.output, /^# Failed: test\/gateway\/store\.test\.ts$/m)
  t.match(failed.output, /\n# Not all is as it should be: see above\.\n/)
  t.match(run(['test/none']), { status: 2, output: /one of checks, seams; got "test\/none"/ })
  t.end()
})

t.test('at a terminal, a line says how far it is, and a failure is printed whole', (t) => {
  const folder = folderOf(t, { '0.test.ts': passes, '1.test.ts': fails })
  const script = `process.stdout.isTTY = true
  const { filesOf, runFiles } = await import(${module})
  await runFiles(filesOf([${JSON.stringify(folder)}]), { jobs: 1 })`
  const { output } = runNode(['--input-type=module', '-e', script], {})
  t.match(output, /\r\x1b\[K1 of 2 files, 1 claims … \d+ s\r/)
  t.notMatch(output, /^ok/m)
  t.match(output, /^not ok 2 - .*1\.test\.ts/m)
  t.end()
})

t.test('files are shared out by their times: each once, and evenly', (t) => {
  const times = { a: 90, b: 50, c: 40, d: 30, e: 20, f: 10 }
  const files = [...Object.keys(times), 'new']
  const shares = sharesOf(files, times, 3)
  t.strictSame(shares.flat().sort(), files)
  const sums = shares.map((share) =>
    share.reduce((sum, file) => sum + (times[file as 'a'] ?? 40), 0),
  )
  t.ok(Math.max(...sums) - Math.min(...sums) <= 10, sums.join())
  t.equal(sharesOf(files, {}, 4).flat().length, files.length, 'as well without any time')
  t.end()
})
