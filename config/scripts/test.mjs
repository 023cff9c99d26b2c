import './check-node.mjs'

const { prepareOrExit } = await import('./prepare.mjs')
const { spawnSync } = await import('node:child_process')
const { join } = await import('node:path')
const { findFaketime, findRedis } = await import('./redis.mjs')
const { findReference } = await import('./references.mjs')
const { failuresSince } = await import('./failures.mjs')
const { lanes } = await import('./lanes.mjs')
const { root } = await import('./shared.mjs')

const [word = '', ...more] = process.argv.slice(2)
const lane = Object.hasOwn(lanes, word) ? lanes[word] : undefined
if (word === 'quick') await prepareOrExit()
else {
  process.env.REDIS_SERVER_BIN = await prepareOrExit(findRedis)
  process.env.LIBFAKETIME = findFaketime()
  process.env.NGINX_BIN = findReference('nginx')
  process.env.HAPROXY_BIN = findReference('haproxy')
}
if (!lane) {
  run('eslint', 'eslint/bin/eslint.js', ['.'])
  run('prettier', 'prettier/bin/prettier.cjs', ['--check', '--log-level', 'warn', '.'])
}
const startMs = Date.now()
run('tap', 'tap/dist/esm/run.mjs', lane ? [...lane, ...more] : process.argv.slice(2), () => {
  for (const failure of failuresSince(startMs)) process.stdout.write(`\n# Failed: ${failure}`)
})
if (lane) {
  const others =
    word === 'quick' ? 'files that need Redis or processes of their own' : 'other files'
  process.stdout.write(`# ${word}: left out are style and all ${others}; npm test runs all.\n`)
}

/** Runs a tool of node_modules in this terminal; if its exit code isn't 0, ends with that. */
function run(name, file, args, onFailure) {
  process.stdout.write(`# ${name}\n`)
  const tool = join(root, 'node_modules', file)
  const { status } = spawnSync(process.execPath, [tool, ...args], { cwd: root, stdio: 'inherit' })
  if (status === 0) return
  onFailure?.()
  process.exit(status ?? 1)
}
