// The faults in their long form, and a table of what was promised, seen and held.
const { prepareOrExit } = await import('./prepare.mjs')
const { readFileSync, rmSync, mkdirSync } = await import('node:fs')
const { join } = await import('node:path')
const { findFaketime, findRedis } = await import('./programs.mjs')
const { runFiles } = await import('./runs.mjs')
const { root } = await import('./shared.mjs')

process.env.REDIS_SERVER_BIN = await prepareOrExit({ forTests: true }, findRedis)
process.env.LIBFAKETIME = await findFaketime()
const file = join(root, '.cache', 'faults.jsonl')
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(file, { force: true })
Object.assign(process.env, { FAULTS: 'long', FAULTS_FILE: file })
const names =
  'faults/backend faults/gateway fleet/backend-process faults/failover faults/store fleet/answer-costs'
const { isFine } = await runFiles(
  names.split(' ').map((name) => `test/${name}.test.ts`),
  { jobs: 1, seconds: 1_800, isShared: false },
)
const rows = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
process.stdout.write('\n| promise | seen | held |\n| --- | --- | --- |\n')
for (const { promise, seen, held } of rows) {
  process.stdout.write(`| ${promise} | ${seen} | ${held ? 'yes' : '**no**'} |\n`)
}
process.exit(isFine ? 0 : 1)
