// Runs the tests, or those that are named, and tells how much of the code they and the processes that they start have run.
const { filesOf, runFiles } = await import('./runs.mjs')
const { findTestRedis, findTestTools } = await import('./test-tools.mjs')
const { spawnSync } = await import('node:child_process')
const { rmSync } = await import('node:fs')
const { join } = await import('node:path')
const { root } = await import('./shared.mjs')

await findTestRedis()
await findTestTools()
const folder = join(root, '.cache', 'coverage')
rmSync(folder, { recursive: true, force: true })
// Node writes there what each process has run, unless it is killed.
process.env.NODE_V8_COVERAGE = folder
// Code that was kept from an earlier process can't be counted.
process.env.NODE_DISABLE_COMPILE_CACHE = '1'
const named = process.argv.slice(2)
const { isFine } = await runFiles(filesOf(named.length > 0 ? named : ['test']) ?? [])
const parts = ['gateway', 'shared', 'backend']
// Nothing of node_modules is read.
const { status: reported } = spawnSync(
  process.execPath,
  [
    // It comes with tap.
    ...[join(root, 'node_modules/c8/bin/c8.js'), 'report', '--temp-directory', folder],
    ...['--merge-async', '--all', '--reporter=text', '--reporter=text-summary'],
    ...parts.flatMap((part) => ['--src', part, '--include', `${part}/**/*.ts`]),
  ],
  { cwd: root, stdio: 'inherit' },
)
process.exit(isFine && reported === 0 ? 0 : 1)
