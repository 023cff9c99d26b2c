// The faults in their long form, and a table of what was promised, seen and held.
const { prepareOrExit } = await import('./prepare.mjs')
const { spawnSync } = await import('node:child_process')
const { readFileSync, rmSync, mkdirSync } = await import('node:fs')
const { join } = await import('node:path')
const { findFaketime, findRedis } = await import('./redis.mjs')
const { root } = await import('./shared.mjs')

process.env.REDIS_SERVER_BIN = await prepareOrExit({ forTests: true }, findRedis)
process.env.LIBFAKETIME = await findFaketime()
const file = join(root, '.cache', 'faults.jsonl')
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(file, { force: true })
const { status } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules/tap/dist/esm/run.mjs'),
    '--timeout=1800',
    '--jobs=1',
    ...[
      'faults/backend',
      'faults/gateway',
      'backend/process',
      'faults/failover',
      'faults/store',
      'fleet/answer-costs',
    ].map((name) => `test/${name}.test.ts`),
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, FAULTS: 'long', FAULTS_FILE: file } },
)
const rows = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
process.stdout.write('\n| promise | seen | held |\n| --- | --- | --- |\n')
for (const { promise, seen, held } of rows) {
  process.stdout.write(`| ${promise} | ${seen} | ${held ? 'yes' : '**no**'} |\n`)
}
process.exit(status ?? 1)
