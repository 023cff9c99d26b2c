// Runs the tests, and tells how much of the code they and the processes that they start have run.
const { findTestTools } = await import('./test-tools.mjs')
const { spawnSync } = await import('node:child_process')
const { rmSync } = await import('node:fs')
const { join } = await import('node:path')
const { root } = await import('./shared.mjs')

await findTestTools()
const folder = join(root, '.cache', 'coverage')
rmSync(folder, { recursive: true, force: true })
// Node writes there what each process has run, unless it is killed.
// Code that was kept from an earlier process can't be counted.
const env = { ...process.env, NODE_V8_COVERAGE: folder, NODE_DISABLE_COMPILE_CACHE: '1' }
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/tap/dist/esm/run.mjs'), ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit', env },
)
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
process.exit(status || (reported ?? 1))
