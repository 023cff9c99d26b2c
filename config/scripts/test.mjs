import './check-node.mjs'

const { prepareOrExit } = await import('./prepare.mjs')
const { spawnSync } = await import('node:child_process')
const { join } = await import('node:path')
const { prepareTests } = await import('./test-tools.mjs')
const { failuresSince } = await import('./failures.mjs')
const { lanes } = await import('./lanes.mjs')
const { root } = await import('./shared.mjs')
const { checkStyle } = await import('./style.mjs')

const [word = '', ...more] = process.argv.slice(2)
const lane = Object.hasOwn(lanes, word) ? lanes[word] : undefined
let styleIsFine = () => true
const beginStyle = () => {
  if (!lane) styleIsFine = checkStyle()
}
if (word === 'quick') await prepareOrExit()
else await prepareTests(beginStyle)
const startMs = Date.now()
process.stdout.write('# tap\n')
const tap = join(root, 'node_modules/tap/dist/esm/run.mjs')
const args = lane ? [...lane, ...more] : process.argv.slice(2)
const { status } = spawnSync(process.execPath, [tap, ...args], { cwd: root, stdio: 'inherit' })
const isFine = await styleIsFine()
if (status !== 0) {
  for (const failure of failuresSince(startMs)) process.stdout.write(`\n# Failed: ${failure}`)
}
if (lane && status === 0) {
  const others =
    word === 'quick' ? 'files that need Redis or processes of their own' : 'other files'
  process.stdout.write(`# ${word}: left out are style and all ${others}; npm test runs all.\n`)
}
process.exit(status === 0 && !isFine ? 1 : (status ?? 1))
