import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { beginChecks } from './checks.mjs'
import { lanes } from './lanes.mjs'
import { prepareOrExit } from './prepare.mjs'
import { run, runAll } from './runs.mjs'
import { root } from './shared.mjs'
import { findTestTools } from './test-tools.mjs'

const [word = '', ...more] = process.argv.slice(2)
const files = Object.hasOwn(lanes, word)
  ? [...lanes[word], ...more]
  : [word, ...more].filter(Boolean)
// Files that are named are run alone.
const isChecked = files.length === 0 || word === 'quick'

await prepareOrExit({ forTests: true })
const checked = isChecked ? beginChecks({ isQuick: word === 'quick' }) : () => true
if (word !== 'quick') await findTestTools()
process.stdout.write('# tap\n')
const tap = join(root, 'node_modules/tap/dist/esm/run.mjs')
// At a terminal tap draws its own report, and there is nothing to read.
const stdio = ['inherit', process.stdout.isTTY ? 'inherit' : 'pipe', 'inherit']
const start = (...args) => spawn(process.execPath, [tap, ...args], { cwd: root, stdio })
const hasPassed =
  files.length === 0 ? await runAll(start) : (await run(() => start(...files))).isFine
const isFine = await checked()
if (hasPassed && files.length > 0) {
  const left = isChecked ? 'other files' : 'types, style and other files'
  process.stdout.write(`# Left out are ${left}; npm test runs all.\n`)
}
process.exit(hasPassed && isFine ? 0 : 1)
