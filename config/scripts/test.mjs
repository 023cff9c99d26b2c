import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beginChecks } from './checks.mjs'
import { failuresSince } from './failures.mjs'
import { lanes } from './lanes.mjs'
import { prepareOrExit } from './prepare.mjs'
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
const startMs = Date.now()
process.stdout.write('# tap\n')
const tap = join(root, 'node_modules/tap/dist/esm/run.mjs')
const [code] = await once(
  spawn(process.execPath, [tap, ...files], { cwd: root, stdio: 'inherit' }),
  'exit',
)
const isFine = await checked()
if (code !== 0) {
  for (const failure of failuresSince(startMs)) process.stdout.write(`\n# Failed: ${failure}`)
} else if (files.length > 0) {
  const left = isChecked ? 'other files' : 'types, style and other files'
  process.stdout.write(`# Left out are ${left}; npm test runs all.\n`)
}
process.exit(code === 0 && !isFine ? 1 : (code ?? 1))
